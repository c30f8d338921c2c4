-- What a read can show has a version for each workspace: the sum over its slots. Whoever changes something visible raises a
-- slot in the same transaction, one that nobody else has locked, or a new one: nobody waits, and who reads the sum reads just
-- what was committed by then (docs/decisions/0029-answers-reused.md). There are as many slots as were ever written to at once.
CREATE TABLE "shown_versions" (
    "slot" BIGSERIAL NOT NULL,
    "workspace_id" UUID NOT NULL,
    "n" BIGINT NOT NULL DEFAULT 0,
    "heard" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "shown_versions_pkey" PRIMARY KEY ("slot")
) WITH (fillfactor = 50);

CREATE INDEX "shown_versions_workspace_id_idx" ON "shown_versions"("workspace_id");

INSERT INTO "shown_versions" ("workspace_id") SELECT "id" FROM "workspaces";

-- By a random number: where a database was put back to an earlier state under servers that run on, no version of before comes again.
CREATE FUNCTION "raise_shown"("workspace" uuid, "only_heard" boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  free bigint;
  step bigint := 1 + floor(random() * 16777216)::bigint;
  more bigint := CASE WHEN only_heard THEN 0 ELSE step END;
  more_heard bigint := CASE WHEN only_heard THEN step ELSE 0 END;
BEGIN
  SELECT slot INTO free FROM "shown_versions" WHERE workspace_id = workspace LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
  IF FOUND THEN
    UPDATE "shown_versions" SET n = n + more, heard = heard + more_heard WHERE slot = free;
  ELSE
    INSERT INTO "shown_versions" (workspace_id, n, heard) VALUES (workspace, more, more_heard);
  END IF;
END $$;

-- Once in a transaction. `pilothouse.shown` has the workspaces that it has raised, and deployments of theirs; it ends with the
-- transaction, and goes back with a savepoint, as the slot does. Who is forgotten is raised once more, and nothing else.
CREATE FUNCTION "shown_in_workspace"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  raised text := coalesce(current_setting('pilothouse.shown', true), '');
  workspace uuid;
  id uuid;
BEGIN
  IF TG_OP = 'DELETE' THEN workspace := OLD.workspace_id; id := OLD.id; ELSE workspace := NEW.workspace_id; id := NEW.id; END IF;
  IF strpos(raised, workspace::text) = 0 THEN
    PERFORM "raise_shown"(workspace, false);
    -- of a deployment: so what belongs to it need not look for its workspace
    PERFORM set_config('pilothouse.shown', right(raised, 400) || workspace || id, true);
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.workspace_id <> NEW.workspace_id THEN
    PERFORM "raise_shown"(OLD.workspace_id, false);
  END IF;
  RETURN NULL;
END $$;

-- Where the deployment is gone it has raised the version itself.
CREATE FUNCTION "shown_in_deployment"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  raised text := coalesce(current_setting('pilothouse.shown', true), '');
  deployment uuid;
  workspace uuid;
BEGIN
  IF TG_OP = 'DELETE' THEN deployment := OLD.deployment_id; ELSE deployment := NEW.deployment_id; END IF;
  IF strpos(raised, deployment::text) = 0 THEN
    SELECT d.workspace_id INTO workspace FROM "deployments" d WHERE d.id = deployment;
    IF FOUND AND strpos(raised, workspace::text) = 0 THEN
      PERFORM "raise_shown"(workspace, false);
      PERFORM set_config('pilothouse.shown', right(raised, 400) || workspace || deployment, true);
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.deployment_id <> NEW.deployment_id THEN
    PERFORM "raise_shown"(d.workspace_id, false) FROM "deployments" d WHERE d.id = OLD.deployment_id;
  END IF;
  RETURN NULL;
END $$;

-- In all workspaces of the organization.
CREATE FUNCTION "shown_in_organization"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before jsonb := to_jsonb(OLD);
  after jsonb := to_jsonb(NEW);
BEGIN
  PERFORM "raise_shown"(w.id, false) FROM "workspaces" w
  WHERE w.organization_id::text IN (
    before->>'organization_id', after->>'organization_id', CASE WHEN TG_TABLE_NAME = 'organizations' THEN after->>'id' END);
  RETURN NULL;
END $$;

CREATE FUNCTION "shown_as_heard"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "raise_shown"(NEW.workspace_id, true);
  RETURN NULL;
END $$;

CREATE FUNCTION "shown_of_workspace"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM "shown_versions" WHERE workspace_id = OLD.id;
  ELSE
    PERFORM "raise_shown"(NEW.id, false);
  END IF;
  RETURN NULL;
END $$;

-- Columns are named, not compared, where who writes one changes it: to compare thirty columns is to read the comparison anew in
-- each statement. A test holds these lists against the tables, so that nobody adds a column without deciding whether it shows.
CREATE TRIGGER "deployments_shown" AFTER INSERT OR DELETE OR UPDATE
  OF "id", "workspace_id", "name", "source", "integration_id", "repo_url", "deployment_type", "build_on_push", "custom_url",
     "resource_spec", "listener_id", "k8s_namespace", "install_command", "build_command", "secret_references", "secret_set_id",
     "image_version", "tracing_project_id", "created_by", "created_at", "updated_at", "edit", "deleted_at", "torn_down_at",
     "provisioned_at", "url", "reason", "reason_since", "status_message", "latest_revision_id", "active_revision_id"
  ON "deployments" FOR EACH ROW EXECUTE FUNCTION "shown_in_workspace"();
-- A renewal of leases writes these. A lease that is renewed while it lasts changes nothing: whoever keeps an answer asks again
-- when the lease that it shows ends. One that was about to end counts as ended; of one that has just ended nobody keeps an answer.
CREATE TRIGGER "deployments_shown_renewed" AFTER UPDATE OF "idle", "health", "lease_expires_at" ON "deployments" FOR EACH ROW
  WHEN (OLD.idle <> NEW.idle OR OLD.health IS DISTINCT FROM NEW.health
    OR (OLD.lease_expires_at IS DISTINCT FROM NEW.lease_expires_at AND NEW.active_revision_id IS NOT NULL
      AND (OLD.lease_expires_at > clock_timestamp() + interval '5 seconds' AND NEW.lease_expires_at >= OLD.lease_expires_at) IS NOT TRUE))
  EXECUTE FUNCTION "shown_in_workspace"();

CREATE TRIGGER "revisions_shown" AFTER INSERT OR DELETE OR UPDATE
  OF "id", "deployment_id", "number", "status", "reason", "reason_since", "status_message", "status_since", "attempt",
     "source", "repo_url", "repo_ref", "graph_config_path", "image_uri", "source_tarball_path", "install_command",
     "build_command", "repo_commit_sha", "created_by", "created_at", "updated_at", "deployed_at"
  ON "revisions" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();

CREATE TRIGGER "deployment_tags_shown" AFTER INSERT OR DELETE OR UPDATE ON "deployment_tags" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();
-- Values never change: a deployment names another set then.
CREATE TRIGGER "secret_sets_shown" AFTER UPDATE OF "names" ON "secret_sets" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();

CREATE TRIGGER "listeners_shown" AFTER INSERT OR DELETE OR UPDATE
  OF "id", "workspace_id", "compute_type", "compute_id", "k8s_namespaces", "created_by", "created_at", "updated_at", "edit"
  ON "listeners" FOR EACH ROW EXECUTE FUNCTION "shown_in_workspace"();
-- A listener that is heard again and again changes nothing but when that was, which has a version of its own (`heard`): few
-- answers show it. One that was silent, or was about to be, is news.
CREATE TRIGGER "listeners_shown_called" AFTER UPDATE OF "last_seen_at", "version" ON "listeners" FOR EACH ROW
  WHEN (OLD.version IS DISTINCT FROM NEW.version OR (OLD.last_seen_at IS DISTINCT FROM NEW.last_seen_at
    AND (OLD.last_seen_at > clock_timestamp() - interval '60 seconds' AND NEW.last_seen_at >= OLD.last_seen_at) IS NOT TRUE))
  EXECUTE FUNCTION "shown_in_workspace"();
CREATE TRIGGER "listeners_shown_heard" AFTER UPDATE OF "last_seen_at" ON "listeners" FOR EACH ROW
  WHEN (OLD.last_seen_at > clock_timestamp() - interval '60 seconds' AND NEW.last_seen_at > OLD.last_seen_at)
  EXECUTE FUNCTION "shown_as_heard"();

-- All columns of these show, or are written so rarely that it does not matter.
CREATE TRIGGER "tags_shown" AFTER INSERT OR UPDATE OR DELETE ON "tags" FOR EACH ROW EXECUTE FUNCTION "shown_in_workspace"();
CREATE TRIGGER "tracing_projects_shown" AFTER INSERT OR UPDATE OR DELETE ON "tracing_projects" FOR EACH ROW EXECUTE FUNCTION "shown_in_workspace"();
CREATE TRIGGER "integrations_shown" AFTER INSERT OR UPDATE OR DELETE ON "integrations" FOR EACH ROW EXECUTE FUNCTION "shown_in_workspace"();
CREATE TRIGGER "oauth_providers_shown" AFTER INSERT OR UPDATE OR DELETE ON "oauth_providers" FOR EACH ROW EXECUTE FUNCTION "shown_in_organization"();
CREATE TRIGGER "organizations_shown" AFTER UPDATE ON "organizations" FOR EACH ROW EXECUTE FUNCTION "shown_in_organization"();
CREATE TRIGGER "workspaces_shown" AFTER INSERT OR UPDATE OR DELETE ON "workspaces" FOR EACH ROW EXECUTE FUNCTION "shown_of_workspace"();
