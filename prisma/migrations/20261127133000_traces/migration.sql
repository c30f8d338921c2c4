-- The trace of a rollout, continued by all that work on it. Null where no collector is set.
ALTER TABLE "revisions" ADD COLUMN "traceparent" TEXT;
ALTER TABLE "events" ADD COLUMN "trace_id" TEXT;

-- The API shows it (docs/decisions/0029-response-cache.md).
CREATE OR REPLACE TRIGGER "revisions_shown" AFTER INSERT OR DELETE OR UPDATE
  OF "id", "deployment_id", "number", "status", "reason", "reason_since", "status_message", "status_since", "attempt",
     "source", "repo_url", "repo_ref", "graph_config_path", "image_uri", "source_tarball_path", "install_command",
     "build_command", "repo_commit_sha", "created_by", "created_at", "updated_at", "deployed_at",
     "commit_message", "commit_author", "trigger", "created_actor", "rollout_at", "rollout_actor", "superseded_by_id",
     "resource_spec", "secret_references", "build_plan", "traceparent"
  ON "revisions" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();
