-- What can't be derived of a revision: what made it and who, what its commit says, since when its newest rollout runs, by what it was
-- superseded, and with what of its deployment it ran last. Null where a server of before has made it.
ALTER TABLE "revisions"
  ADD COLUMN "commit_message" TEXT,
  ADD COLUMN "commit_author" TEXT,
  ADD COLUMN "trigger" TEXT,
  ADD COLUMN "created_actor" JSONB,
  ADD COLUMN "rollout_at" TIMESTAMPTZ(3),
  ADD COLUMN "rollout_actor" JSONB,
  ADD COLUMN "superseded_by_id" UUID,
  ADD COLUMN "resource_spec" JSONB,
  ADD COLUMN "secret_references" JSONB;

-- All of them show (docs/decisions/0029-answers-reused.md).
CREATE OR REPLACE TRIGGER "revisions_shown" AFTER INSERT OR DELETE OR UPDATE
  OF "id", "deployment_id", "number", "status", "reason", "reason_since", "status_message", "status_since", "attempt",
     "source", "repo_url", "repo_ref", "graph_config_path", "image_uri", "source_tarball_path", "install_command",
     "build_command", "repo_commit_sha", "created_by", "created_at", "updated_at", "deployed_at",
     "commit_message", "commit_author", "trigger", "created_actor", "rollout_at", "rollout_actor", "superseded_by_id",
     "resource_spec", "secret_references"
  ON "revisions" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();

-- What the provider's delivery says of the commit that was pushed.
ALTER TABLE "webhook_deliveries" ADD COLUMN "commit_message" TEXT, ADD COLUMN "commit_author" TEXT;
