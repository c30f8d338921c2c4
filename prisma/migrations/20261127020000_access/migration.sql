-- Callers of a deployment's agent. The default is for existing rows, and for rows that servers of the previous version
-- create during an upgrade: their agents stay reachable. New servers write `workspace` unless the request says otherwise.
CREATE TYPE "DeploymentAccess" AS ENUM ('workspace', 'organization', 'public');
ALTER TABLE "deployments" ADD COLUMN "access" "DeploymentAccess" NOT NULL DEFAULT 'public';

ALTER TYPE "Role" ADD VALUE 'caller';

CREATE TYPE "SigningKeyPurpose" AS ENUM ('link', 'caller');
CREATE TABLE "signing_keys" (
    "id" TEXT NOT NULL,
    "purpose" "SigningKeyPurpose" NOT NULL,
    "public_jwk" JSONB NOT NULL,
    "private_key" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    CONSTRAINT "signing_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "signing_keys_private_key" CHECK (("purpose" = 'link') = ("private_key" IS NOT NULL))
);
