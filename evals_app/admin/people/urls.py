"""Addresses of what people change about themselves and keep, and of the links that set a password."""

from django.contrib import admin
from django.urls import path

from evals_app.admin.people.invitations import SetPassword
from evals_app.admin.people.mail_wishes import mail_about_own_runs
from evals_app.admin.people.password_mails import forgotten_password
from evals_app.admin.people.profile import change_password, choose_time_zone, profile
from evals_app.admin.people.saved_views import keep_view
from evals_app.admin.people.sessions import own_sessions
from evals_app.admin.people.two_step import own_two_step

_signed_in = admin.site.admin_view
urlpatterns = [
    path("profile/", _signed_in(profile), name="profile"),
    path("password_change/", _signed_in(change_password), name="change_password"),
    path("profile/email/", _signed_in(mail_about_own_runs), name="profile_email"),
    path("profile/sessions/", _signed_in(own_sessions), name="profile_sessions"),
    path("profile/two-step/", _signed_in(own_two_step), name="profile_two_step"),
    path("profile/time-zone/", _signed_in(choose_time_zone), name="choose_time_zone"),
    path("views/", _signed_in(keep_view), name="keep_view"),
    path("login/forgotten/", forgotten_password, name="forgotten_password"),
    path("invitation/<uidb64>/<token>/", SetPassword.as_view(), name="set_password"),
]
