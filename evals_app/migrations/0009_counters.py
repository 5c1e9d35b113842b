from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("evals_app", "0008_reviews"),
    ]

    operations = [
        migrations.AlterField(
            model_name="tally",
            name="name",
            field=models.CharField(max_length=500, primary_key=True, serialize=False),
        ),
        migrations.AddField(
            model_name="lease",
            name="counted",
            field=models.JSONField(default=list),
        ),
    ]
