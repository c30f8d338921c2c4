-- Leases that were renewed while somebody else had the deployment's row locked. No foreign key: its check would wait for that lock.
CREATE TABLE "lease_renewals" (
    "claim_id" UUID NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "lease_renewals_pkey" PRIMARY KEY ("claim_id")
);
