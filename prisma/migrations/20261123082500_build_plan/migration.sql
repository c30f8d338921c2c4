-- What a build does, as whoever builds has reported it. Null where nobody has.
ALTER TABLE "revisions" ADD COLUMN "build_plan" JSONB;

-- It shows (docs/decisions/0029-answers-reused.md).
CREATE OR REPLACE TRIGGER "revisions_shown" AFTER INSERT OR DELETE OR UPDATE
  OF "id", "deployment_id", "number", "status", "reason", "reason_since", "status_message", "status_since", "attempt",
     "source", "repo_url", "repo_ref", "graph_config_path", "image_uri", "source_tarball_path", "install_command",
     "build_command", "repo_commit_sha", "created_by", "created_at", "updated_at", "deployed_at",
     "commit_message", "commit_author", "trigger", "created_actor", "rollout_at", "rollout_actor", "superseded_by_id",
     "resource_spec", "secret_references", "build_plan"
  ON "revisions" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();
