-- Sources: an app at a git hosting provider, uploaded tarballs.

-- AlterEnum
ALTER TYPE "IntegrationKind" ADD VALUE 'app';

-- AlterTable
ALTER TABLE "integrations" ADD COLUMN     "account" TEXT,
ADD COLUMN     "installation_id" BIGINT,
ADD COLUMN     "removed_at" TIMESTAMPTZ(3),
ADD COLUMN     "suspended_at" TIMESTAMPTZ(3);

-- CreateIndex
CREATE INDEX "integrations_installation_id_idx" ON "integrations"("installation_id");

-- an installation is in a workspace once
CREATE UNIQUE INDEX "integrations_live_installation_key" ON "integrations"("workspace_id", "installation_id") WHERE "removed_at" IS NULL;

-- an app's integration is that of an installation (as text: a new value of an enum can't be used in its own transaction)
ALTER TABLE "integrations" ADD CONSTRAINT "integrations_installation_check" CHECK (("kind"::text = 'app') = ("installation_id" IS NOT NULL));

-- CreateTable
CREATE TABLE "install_states" (
    "hash" TEXT NOT NULL,
    "workspace_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "install_states_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "action" TEXT,
    "installation_id" BIGINT,
    "repository" TEXT,
    "branch" TEXT,
    "after" TEXT,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "not_before" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "tries" INTEGER NOT NULL DEFAULT 0,
    "leased_until" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- what is still to be handled
CREATE INDEX "webhook_deliveries_open_idx" ON "webhook_deliveries"("not_before") WHERE "finished_at" IS NULL;

-- CreateIndex
CREATE INDEX "webhook_deliveries_received_at_idx" ON "webhook_deliveries"("received_at");

-- CreateTable
CREATE TABLE "commit_statuses" (
    "revision_id" UUID NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "since" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "taken_until" TIMESTAMPTZ(3),
    "tries" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "commit_statuses_pkey" PRIMARY KEY ("revision_id")
);

-- CreateIndex
CREATE INDEX "commit_statuses_due_at_idx" ON "commit_statuses"("due_at");

-- CreateTable
CREATE TABLE "uploads" (
    "id" UUID NOT NULL,
    "deployment_id" UUID,
    "object_path" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "size" BIGINT,
    "checksum" TEXT,
    "used_at" TIMESTAMPTZ(3),
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "uploads_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "uploads_object_path_key" ON "uploads"("object_path");

-- CreateIndex
CREATE INDEX "uploads_deployment_id_idx" ON "uploads"("deployment_id");

-- what may have to be removed some day
CREATE INDEX "uploads_kept_idx" ON "uploads"("created_at") WHERE "removed_at" IS NULL;

-- AddForeignKey
ALTER TABLE "install_states" ADD CONSTRAINT "install_states_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "commit_statuses" ADD CONSTRAINT "commit_statuses_revision_id_fkey" FOREIGN KEY ("revision_id") REFERENCES "revisions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "uploads" ADD CONSTRAINT "uploads_deployment_id_fkey" FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- A commit of an app's repository is told how its revision fares. Written here, and not by the verbs, so that no
-- change of a status can forget it and none costs a statement more; `version` tells what was reported meanwhile.
CREATE FUNCTION "want_commit_status"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "commit_statuses" ("revision_id")
  SELECT NEW."id" FROM "deployments" d JOIN "integrations" i ON i."id" = d."integration_id"
  WHERE d."id" = NEW."deployment_id" AND i."kind"::text = 'app'
  ON CONFLICT ("revision_id") DO UPDATE
    SET "version" = "commit_statuses"."version" + 1, "since" = clock_timestamp(), "due_at" = clock_timestamp(), "tries" = 0;
  IF FOUND THEN
    PERFORM pg_notify('pilothouse_gitprovider', '');
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER "revisions_commit_status_made" AFTER INSERT ON "revisions" FOR EACH ROW
  WHEN (NEW."source" = 'gitprovider' AND NEW."repo_commit_sha" IS NOT NULL)
  EXECUTE FUNCTION "want_commit_status"();

CREATE TRIGGER "revisions_commit_status_changed" AFTER UPDATE OF "status", "repo_commit_sha" ON "revisions" FOR EACH ROW
  WHEN (NEW."source" = 'gitprovider' AND NEW."repo_commit_sha" IS NOT NULL
    AND (NEW."status" <> OLD."status" OR NEW."attempt" <> OLD."attempt" OR OLD."repo_commit_sha" IS DISTINCT FROM NEW."repo_commit_sha"))
  EXECUTE FUNCTION "want_commit_status"();
