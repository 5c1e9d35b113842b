"""Addresses of signing in."""

from django.urls import path

from evalsite.sign_in.company import company_back, company_start
from evalsite.sign_in.page import SignIn

urlpatterns = [
    path("login/", SignIn.as_view(), name="sign_in"),
    path("login/company/", company_start, name="company_start"),
    path("login/company/back/", company_back, name="company_back"),
]
