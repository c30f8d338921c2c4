-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "approver_kind" TEXT;

-- CreateTable
CREATE TABLE "logins" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "secret_hash" TEXT NOT NULL,
    "code_hash" TEXT NOT NULL,
    "key_salt" TEXT NOT NULL,
    "approved" BOOLEAN,
    "workspace_id" UUID,
    "role" "Role",
    "decider_kind" TEXT,
    "decided_by" TEXT,
    "owner" TEXT,
    "api_key_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "logins_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "logins_secret_hash_key" ON "logins"("secret_hash");

-- CreateIndex
CREATE UNIQUE INDEX "logins_code_hash_key" ON "logins"("code_hash");

-- CreateIndex
CREATE UNIQUE INDEX "logins_api_key_id_key" ON "logins"("api_key_id");

-- CreateIndex
CREATE INDEX "logins_expires_at_idx" ON "logins"("expires_at");

-- AddForeignKey
ALTER TABLE "logins" ADD CONSTRAINT "logins_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "logins" ADD CONSTRAINT "logins_api_key_id_fkey" FOREIGN KEY ("api_key_id") REFERENCES "api_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;
