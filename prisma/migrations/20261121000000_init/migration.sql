-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "Plan" AS ENUM ('developer', 'plus', 'enterprise', 'self_hosted_enterprise');

-- CreateEnum
CREATE TYPE "Role" AS ENUM ('viewer', 'deployer', 'admin', 'listener', 'agent');

-- CreateEnum
CREATE TYPE "Source" AS ENUM ('gitprovider', 'external_container', 'internal_container', 'internal_source');

-- CreateEnum
CREATE TYPE "DeploymentType" AS ENUM ('dev_free', 'dev', 'prod');

-- CreateEnum
CREATE TYPE "RevisionStatus" AS ENUM ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING', 'DEPLOYED', 'CREATE_FAILED', 'BUILD_FAILED', 'DEPLOY_FAILED', 'SKIPPED', 'INTERRUPTED', 'UNKNOWN');

-- CreateEnum
CREATE TYPE "StepKind" AS ENUM ('PROVISION', 'BUILD', 'DEPLOY', 'TEARDOWN');

-- CreateEnum
CREATE TYPE "StepOutcome" AS ENUM ('succeeded', 'failed', 'cancelled');

-- CreateEnum
CREATE TYPE "LogType" AS ENUM ('build', 'deploy');

-- CreateEnum
CREATE TYPE "LogLevel" AS ENUM ('debug', 'info', 'warning', 'error');

-- CreateEnum
CREATE TYPE "IntegrationKind" AS ENUM ('directory');

-- CreateTable
CREATE TABLE "organizations" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "plan" "Plan" NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "organizations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "installation" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "key_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "installation_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workspaces" (
    "id" UUID NOT NULL,
    "organization_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workspaces_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "event_counters" (
    "workspace_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "event_counters_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateTable
CREATE TABLE "events" (
    "workspace_id" UUID NOT NULL,
    "sequence" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "deployment_id" UUID,
    "revision_id" UUID,
    "subject_id" TEXT,
    "from_status" "RevisionStatus",
    "to_status" "RevisionStatus",
    "message" TEXT,
    "attempt" INTEGER,
    "actor" TEXT,
    "occurred_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "events_pkey" PRIMARY KEY ("workspace_id","sequence")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" UUID NOT NULL,
    "organization_id" UUID NOT NULL,
    "workspace_id" UUID,
    "name" TEXT NOT NULL,
    "role" "Role" NOT NULL,
    "secrets_read" BOOLEAN NOT NULL DEFAULT false,
    "prefix" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tracing_projects" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tracing_projects_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tags" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tags_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deployment_tags" (
    "deployment_id" UUID NOT NULL,
    "tag_id" UUID NOT NULL,

    CONSTRAINT "deployment_tags_pkey" PRIMARY KEY ("deployment_id","tag_id")
);

-- CreateTable
CREATE TABLE "listeners" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "compute_type" TEXT NOT NULL,
    "compute_id" TEXT NOT NULL,
    "k8s_namespaces" TEXT[],
    "version" TEXT,
    "last_seen_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "listeners_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "integrations" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "kind" "IntegrationKind" NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "integrations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "secret_sets" (
    "id" UUID NOT NULL,
    "deployment_id" UUID NOT NULL,
    "names" TEXT[],
    "key_id" TEXT NOT NULL,
    "wrapped_key" BYTEA NOT NULL,
    "ciphertext" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "secret_sets_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deployments" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "source" "Source" NOT NULL,
    "integration_id" UUID,
    "repo_url" TEXT,
    "deployment_type" "DeploymentType",
    "build_on_push" BOOLEAN,
    "custom_url" TEXT,
    "resource_spec" JSONB,
    "listener_id" UUID,
    "k8s_namespace" TEXT,
    "install_command" TEXT,
    "build_command" TEXT,
    "secret_references" JSONB,
    "secret_set_id" UUID,
    "image_version" TEXT,
    "tracing_project_id" UUID,
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),
    "torn_down_at" TIMESTAMPTZ(3),
    "provisioned_at" TIMESTAMPTZ(3),
    "idle" BOOLEAN NOT NULL DEFAULT false,
    "health" JSONB,
    "status_message" TEXT,
    "latest_revision_id" UUID,
    "active_revision_id" UUID,
    "revision_count" INTEGER NOT NULL DEFAULT 0,
    "rollout" INTEGER NOT NULL DEFAULT 0,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "claim_id" UUID,
    "lease_holder" TEXT,
    "lease_token" BIGINT NOT NULL DEFAULT 0,
    "lease_expires_at" TIMESTAMPTZ(3),
    "busy_step_id" UUID,

    CONSTRAINT "deployments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "revisions" (
    "id" UUID NOT NULL,
    "deployment_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "status" "RevisionStatus" NOT NULL DEFAULT 'CREATING',
    "status_message" TEXT,
    "status_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "attempt" INTEGER NOT NULL DEFAULT 1,
    "rollout" INTEGER NOT NULL,
    "source" "Source" NOT NULL,
    "repo_url" TEXT,
    "repo_ref" TEXT,
    "graph_config_path" TEXT,
    "image_uri" TEXT,
    "source_tarball_path" TEXT,
    "install_command" TEXT,
    "build_command" TEXT,
    "secret_set_id" UUID,
    "repo_commit_sha" TEXT,
    "artifact" TEXT,
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,
    "deployed_at" TIMESTAMPTZ(3),

    CONSTRAINT "revisions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "steps" (
    "id" UUID NOT NULL,
    "deployment_id" UUID NOT NULL,
    "kind" "StepKind" NOT NULL,
    "revision_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "not_before" TIMESTAMPTZ(3),
    "first_taken_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3),
    "tries" INTEGER NOT NULL DEFAULT 0,
    "finished_at" TIMESTAMPTZ(3),
    "outcome" "StepOutcome",
    "finished_by" BIGINT,

    CONSTRAINT "steps_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "log_lines" (
    "id" BIGSERIAL NOT NULL,
    "revision_id" UUID NOT NULL,
    "type" "LogType" NOT NULL,
    "attempt" INTEGER NOT NULL,
    "level" "LogLevel" NOT NULL DEFAULT 'info',
    "message" TEXT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "log_lines_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "workspaces_organization_id_idx" ON "workspaces"("organization_id");

-- CreateIndex
CREATE INDEX "events_deployment_id_sequence_idx" ON "events"("deployment_id", "sequence");

-- CreateIndex
CREATE INDEX "events_revision_id_sequence_idx" ON "events"("revision_id", "sequence");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");

-- CreateIndex
CREATE INDEX "api_keys_organization_id_created_at_idx" ON "api_keys"("organization_id", "created_at");

-- CreateIndex
CREATE UNIQUE INDEX "tracing_projects_workspace_id_name_key" ON "tracing_projects"("workspace_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "tags_workspace_id_key_value_key" ON "tags"("workspace_id", "key", "value");

-- CreateIndex
CREATE INDEX "deployment_tags_tag_id_idx" ON "deployment_tags"("tag_id");

-- CreateIndex
CREATE UNIQUE INDEX "listeners_workspace_id_compute_id_key" ON "listeners"("workspace_id", "compute_id");

-- CreateIndex
CREATE INDEX "integrations_workspace_id_idx" ON "integrations"("workspace_id");

-- CreateIndex
CREATE INDEX "secret_sets_deployment_id_idx" ON "secret_sets"("deployment_id");

-- CreateIndex
CREATE UNIQUE INDEX "deployments_latest_revision_id_key" ON "deployments"("latest_revision_id");

-- CreateIndex
CREATE UNIQUE INDEX "deployments_active_revision_id_key" ON "deployments"("active_revision_id");

-- CreateIndex
CREATE UNIQUE INDEX "deployments_claim_id_key" ON "deployments"("claim_id");

-- CreateIndex
CREATE INDEX "deployments_workspace_id_created_at_id_idx" ON "deployments"("workspace_id", "created_at" DESC, "id" DESC);

-- CreateIndex
CREATE INDEX "deployments_listener_id_lease_expires_at_idx" ON "deployments"("listener_id", "lease_expires_at");

-- CreateIndex
CREATE INDEX "deployments_integration_id_idx" ON "deployments"("integration_id");

-- CreateIndex
CREATE INDEX "deployments_tracing_project_id_idx" ON "deployments"("tracing_project_id");

-- CreateIndex
CREATE INDEX "deployments_secret_set_id_idx" ON "deployments"("secret_set_id");

-- CreateIndex
CREATE INDEX "revisions_secret_set_id_idx" ON "revisions"("secret_set_id");

-- CreateIndex
CREATE UNIQUE INDEX "revisions_deployment_id_number_key" ON "revisions"("deployment_id", "number");

-- CreateIndex
CREATE INDEX "steps_deployment_id_idx" ON "steps"("deployment_id");

-- CreateIndex
CREATE INDEX "steps_revision_id_idx" ON "steps"("revision_id");

-- CreateIndex
CREATE INDEX "log_lines_revision_id_type_id_idx" ON "log_lines"("revision_id", "type", "id");

-- AddForeignKey
ALTER TABLE "workspaces" ADD CONSTRAINT "workspaces_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "event_counters" ADD CONSTRAINT "event_counters_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tracing_projects" ADD CONSTRAINT "tracing_projects_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tags" ADD CONSTRAINT "tags_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment_tags" ADD CONSTRAINT "deployment_tags_deployment_id_fkey" FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployment_tags" ADD CONSTRAINT "deployment_tags_tag_id_fkey" FOREIGN KEY ("tag_id") REFERENCES "tags"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "listeners" ADD CONSTRAINT "listeners_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "integrations" ADD CONSTRAINT "integrations_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "secret_sets" ADD CONSTRAINT "secret_sets_deployment_id_fkey" FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_integration_id_fkey" FOREIGN KEY ("integration_id") REFERENCES "integrations"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_listener_id_fkey" FOREIGN KEY ("listener_id") REFERENCES "listeners"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_secret_set_id_fkey" FOREIGN KEY ("secret_set_id") REFERENCES "secret_sets"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_tracing_project_id_fkey" FOREIGN KEY ("tracing_project_id") REFERENCES "tracing_projects"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_latest_revision_id_fkey" FOREIGN KEY ("latest_revision_id") REFERENCES "revisions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_active_revision_id_fkey" FOREIGN KEY ("active_revision_id") REFERENCES "revisions"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "revisions" ADD CONSTRAINT "revisions_deployment_id_fkey" FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "revisions" ADD CONSTRAINT "revisions_secret_set_id_fkey" FOREIGN KEY ("secret_set_id") REFERENCES "secret_sets"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "steps" ADD CONSTRAINT "steps_deployment_id_fkey" FOREIGN KEY ("deployment_id") REFERENCES "deployments"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "steps" ADD CONSTRAINT "steps_revision_id_fkey" FOREIGN KEY ("revision_id") REFERENCES "revisions"("id") ON DELETE CASCADE ON UPDATE CASCADE;



-- By hand: what Prisma's schema language lacks.

-- A name is unique among the live deployments of a workspace; DELETE frees it at once.
CREATE UNIQUE INDEX "deployments_live_name" ON "deployments"("workspace_id", "name") WHERE "deleted_at" IS NULL;

-- At most one step of a deployment is open.
CREATE UNIQUE INDEX "steps_open" ON "steps"("deployment_id") WHERE "finished_at" IS NULL;

-- The sweep asks every few seconds for open steps past their deadline.
CREATE INDEX "steps_open_deadline" ON "steps"("deadline_at") WHERE "finished_at" IS NULL;

-- Waiting and working revisions: few among many.
CREATE INDEX "revisions_in_progress" ON "revisions"("deployment_id")
  WHERE "status" IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING');

-- A lease is there as a whole or not at all.
ALTER TABLE "deployments" ADD CONSTRAINT "deployments_lease_whole"
  CHECK (num_nulls("claim_id", "lease_holder", "lease_expires_at") IN (0, 3));

ALTER TABLE "revisions" ADD CONSTRAINT "revisions_attempt_from_1" CHECK ("attempt" >= 1);
