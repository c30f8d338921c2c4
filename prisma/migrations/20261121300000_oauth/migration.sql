-- OAuth: providers, authorizations, tokens, connections of agents to tokens.

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "agent_id" TEXT;

-- CreateTable
CREATE TABLE "oauth_providers" (
    "id" UUID NOT NULL,
    "organization_id" UUID NOT NULL,
    "provider_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "client_secret" TEXT,
    "auth_url" TEXT NOT NULL,
    "token_url" TEXT NOT NULL,
    "uses_pkce" BOOLEAN NOT NULL DEFAULT false,
    "code_challenge_method" TEXT DEFAULT 'S256',
    "provider_type" TEXT,
    "token_endpoint_auth_method" TEXT NOT NULL DEFAULT 'client_secret_post',
    "mcp_server_url" TEXT,
    "is_dynamic_client" BOOLEAN NOT NULL DEFAULT false,
    "resource" TEXT,
    "issuer" TEXT,
    "revocation_url" TEXT,
    "userinfo_url" TEXT,
    "metadata_read_at" TIMESTAMPTZ(3),
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "oauth_providers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_authorizations" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "oauth_provider_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "agent_id" TEXT,
    "scopes" TEXT[],
    "state_hash" TEXT NOT NULL,
    "redirect_uri" TEXT NOT NULL,
    "code_verifier" TEXT,
    "renews_token_id" UUID,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "failure" TEXT,
    "token_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "oauth_authorizations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "oauth_tokens" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "oauth_provider_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "account_id" TEXT,
    "account_label" TEXT,
    "label" TEXT,
    "scopes" TEXT[],
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "sealed" TEXT NOT NULL,
    "refreshable" BOOLEAN NOT NULL,
    "token_url" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "ended_because" TEXT,
    "version" INTEGER NOT NULL DEFAULT 1,
    "rotates" BOOLEAN,
    "refresh_id" UUID,
    "refresh_until" TIMESTAMPTZ(3),
    "refresh_failures" INTEGER NOT NULL DEFAULT 0,
    "refresh_error" TEXT,
    "refresh_after" TIMESTAMPTZ(3),
    "used_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "oauth_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agent_connections" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "agent_id" TEXT NOT NULL,
    "token_id" UUID NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_connections_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "token_revocations" (
    "id" UUID NOT NULL,
    "sealed" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "not_before" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "tries" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "token_revocations_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "oauth_providers_organization_id_provider_id_key" ON "oauth_providers"("organization_id", "provider_id");

-- CreateIndex
CREATE UNIQUE INDEX "oauth_authorizations_state_hash_key" ON "oauth_authorizations"("state_hash");

-- CreateIndex
CREATE INDEX "oauth_authorizations_expires_at_idx" ON "oauth_authorizations"("expires_at");

-- CreateIndex
CREATE INDEX "oauth_authorizations_oauth_provider_id_idx" ON "oauth_authorizations"("oauth_provider_id");

-- CreateIndex
CREATE INDEX "oauth_tokens_workspace_id_subject_created_at_idx" ON "oauth_tokens"("workspace_id", "subject", "created_at");

-- CreateIndex
CREATE INDEX "oauth_tokens_oauth_provider_id_idx" ON "oauth_tokens"("oauth_provider_id");

-- CreateIndex
CREATE INDEX "agent_connections_token_id_idx" ON "agent_connections"("token_id");

-- CreateIndex
CREATE UNIQUE INDEX "agent_connections_workspace_id_agent_id_token_id_key" ON "agent_connections"("workspace_id", "agent_id", "token_id");

-- CreateIndex
CREATE INDEX "token_revocations_not_before_idx" ON "token_revocations"("not_before");

-- AddForeignKey
ALTER TABLE "oauth_providers" ADD CONSTRAINT "oauth_providers_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_authorizations" ADD CONSTRAINT "oauth_authorizations_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_authorizations" ADD CONSTRAINT "oauth_authorizations_oauth_provider_id_fkey" FOREIGN KEY ("oauth_provider_id") REFERENCES "oauth_providers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_authorizations" ADD CONSTRAINT "oauth_authorizations_renews_token_id_fkey" FOREIGN KEY ("renews_token_id") REFERENCES "oauth_tokens"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_authorizations" ADD CONSTRAINT "oauth_authorizations_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "oauth_tokens"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_tokens" ADD CONSTRAINT "oauth_tokens_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "oauth_tokens" ADD CONSTRAINT "oauth_tokens_oauth_provider_id_fkey" FOREIGN KEY ("oauth_provider_id") REFERENCES "oauth_providers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_connections" ADD CONSTRAINT "agent_connections_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_connections" ADD CONSTRAINT "agent_connections_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "oauth_tokens"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- an agent's key is that of one agent
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_agent_check" CHECK (("role"::text = 'agent') = ("agent_id" IS NOT NULL));

ALTER TABLE "oauth_authorizations" ADD CONSTRAINT "oauth_authorizations_status_check" CHECK ("status" IN ('pending', 'exchanging', 'completed', 'failed'));

-- an account is there once for each person
CREATE UNIQUE INDEX "oauth_tokens_account_key" ON "oauth_tokens"("workspace_id", "oauth_provider_id", "subject", "account_id") WHERE "account_id" IS NOT NULL;

-- and one of a person's accounts is the default
CREATE UNIQUE INDEX "oauth_tokens_default_key" ON "oauth_tokens"("workspace_id", "oauth_provider_id", "subject") WHERE "is_default";

-- what will have to be refreshed
CREATE INDEX "oauth_tokens_expiring_idx" ON "oauth_tokens"("expires_at") WHERE "refreshable" AND "ended_at" IS NULL;
