"""Addresses of signing in."""

from django.urls import path

from evalsite.sign_in.company import company_back, company_start
from evalsite.sign_in.page import SignIn
from evalsite.sign_in.second_step import second_step

urlpatterns = [
    path("login/", SignIn.as_view(), name="sign_in"),
    path("login/code/", second_step, name="second_step"),
    path("login/company/", company_start, name="company_start"),
    path("login/company/back/", company_back, name="company_back"),
]
