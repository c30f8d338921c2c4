-- What somebody did last to a deployment, and who: for lists, without the log. Written with `edit` and `updated_at`, which raise the
-- version of what is shown; null where a server of before has changed it since, or nobody.
ALTER TABLE "deployments" ADD COLUMN "last_change" JSONB;
