-- What shows of deployments, as it changes (docs/decisions/0034-one-entry-for-each-deployment.md). Who changes something visible leaves
-- a note in the same transaction, which locks nothing and waits for nobody; one server at a time turns the notes into places in
-- the log of changes, in which a deployment has one entry: its last change.
CREATE TABLE "deployment_news" (
    "id" BIGSERIAL NOT NULL,
    "workspace_id" UUID NOT NULL,
    "deployment_id" UUID NOT NULL,

    CONSTRAINT "deployment_news_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "deployment_changes" (
    "deployment_id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL,

    CONSTRAINT "deployment_changes_pkey" PRIMARY KEY ("deployment_id")
);

CREATE INDEX "deployment_changes_workspace_id_sequence_idx" ON "deployment_changes"("workspace_id", "sequence");

-- Places are given by who has its turn alone, so they grow in the order of the commits.
CREATE SEQUENCE "deployment_changes_sequence";

-- Entries of deployments whose rows are gone are removed: up to this place some are missing.
CREATE TABLE "deployment_change_floors" (
    "workspace_id" UUID NOT NULL,
    "removed" BIGINT NOT NULL,

    CONSTRAINT "deployment_change_floors_pkey" PRIMARY KEY ("workspace_id")
);

-- Leases that have ended by then were told of. One row.
CREATE TABLE "lapses_told" (
    "one" BOOLEAN NOT NULL DEFAULT true,
    "until" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),

    CONSTRAINT "lapses_told_pkey" PRIMARY KEY ("one")
);
INSERT INTO "lapses_told" DEFAULT VALUES;

-- Whether the log of events has it last as silent.
ALTER TABLE "listeners" ADD COLUMN "told_silent" BOOLEAN NOT NULL DEFAULT false;

-- One note for each deployment of a transaction; who is forgotten is noted once more.
CREATE FUNCTION "note_deployment"("workspace" uuid, "deployment" uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  noted text := coalesce(current_setting('pilothouse.noted', true), '');
BEGIN
  IF strpos(noted, deployment::text) > 0 THEN RETURN; END IF;
  INSERT INTO "deployment_news" (workspace_id, deployment_id) VALUES (workspace, deployment);
  PERFORM set_config('pilothouse.noted', right(noted, 400) || deployment, true);
END $$;

-- As before, and notes what it is news of.
CREATE OR REPLACE FUNCTION "shown_in_workspace"() RETURNS trigger LANGUAGE plpgsql AS $$
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
  IF TG_TABLE_NAME = 'deployments' THEN
    PERFORM "note_deployment"(workspace, id);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION "shown_in_deployment"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  raised text := coalesce(current_setting('pilothouse.shown', true), '');
  noted text := coalesce(current_setting('pilothouse.noted', true), '');
  deployment uuid;
  workspace uuid;
BEGIN
  IF TG_OP = 'DELETE' THEN deployment := OLD.deployment_id; ELSE deployment := NEW.deployment_id; END IF;
  IF strpos(raised, deployment::text) = 0 OR strpos(noted, deployment::text) = 0 THEN
    SELECT d.workspace_id INTO workspace FROM "deployments" d WHERE d.id = deployment;
    IF FOUND AND strpos(raised, workspace::text) = 0 THEN
      PERFORM "raise_shown"(workspace, false);
      PERFORM set_config('pilothouse.shown', right(raised, 400) || workspace || deployment, true);
    END IF;
    -- where its row is gone, that was noted
    IF FOUND THEN PERFORM "note_deployment"(workspace, deployment); END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD.deployment_id <> NEW.deployment_id THEN
    PERFORM "raise_shown"(d.workspace_id, false) FROM "deployments" d WHERE d.id = OLD.deployment_id;
  END IF;
  RETURN NULL;
END $$;

-- What a deployment shows of its listener and its integration is their names, and that an integration is away: rarely written.
CREATE FUNCTION "note_deployments_around"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_TABLE_NAME = 'listeners' THEN
    INSERT INTO "deployment_news" (workspace_id, deployment_id)
    SELECT d.workspace_id, d.id FROM "deployments" d WHERE d.listener_id = NEW.id AND d.torn_down_at IS NULL;
  ELSE
    INSERT INTO "deployment_news" (workspace_id, deployment_id)
    SELECT d.workspace_id, d.id FROM "deployments" d WHERE d.integration_id = NEW.id AND d.torn_down_at IS NULL;
  END IF;
  RETURN NULL;
END $$;

-- Told that it is silent, or heard again, a listener is news of all its deployments.
CREATE TRIGGER "listeners_noted" AFTER UPDATE OF "compute_id", "told_silent" ON "listeners" FOR EACH ROW
  WHEN (OLD.compute_id <> NEW.compute_id OR OLD.told_silent <> NEW.told_silent) EXECUTE FUNCTION "note_deployments_around"();
CREATE TRIGGER "integrations_noted" AFTER UPDATE OF "name", "removed_at", "suspended_at" ON "integrations" FOR EACH ROW
  EXECUTE FUNCTION "note_deployments_around"();
