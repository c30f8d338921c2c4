-- Sessions of the dashboard. A server of the version before knows none, and answers them with 401.
CREATE TABLE "sessions" (
    "id" UUID NOT NULL,
    "organization_id" UUID NOT NULL,
    "workspace_id" UUID,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "name" TEXT,
    "api_key_id" UUID,
    "role" "Role",
    "code_hash" TEXT,
    "code_expires_at" TIMESTAMPTZ(3),
    "bound_hash" TEXT,
    "hash" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "opened_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sessions_kind" CHECK ("kind" IN ('api_key', 'person', 'command_line')),
    -- a key's rights are the key's own, as they are when they are asked for
    CONSTRAINT "sessions_rights" CHECK (("kind" = 'api_key') = ("api_key_id" IS NOT NULL) AND ("kind" = 'api_key') = ("role" IS NULL)),
    -- it is a code, or it is open
    CONSTRAINT "sessions_open" CHECK (("code_hash" IS NULL) <> ("hash" IS NULL) AND ("hash" IS NULL) = ("opened_at" IS NULL)
      AND ("code_hash" IS NULL OR "code_expires_at" IS NOT NULL))
);

CREATE UNIQUE INDEX "sessions_code_hash_key" ON "sessions"("code_hash");
CREATE UNIQUE INDEX "sessions_hash_key" ON "sessions"("hash");
CREATE INDEX "sessions_organization_id_subject_created_at_idx" ON "sessions"("organization_id", "subject", "created_at");
CREATE INDEX "sessions_api_key_id_idx" ON "sessions"("api_key_id");

ALTER TABLE "sessions" ADD CONSTRAINT "sessions_organization_id_fkey" FOREIGN KEY ("organization_id") REFERENCES "organizations"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;
