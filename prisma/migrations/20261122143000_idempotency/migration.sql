-- Outcomes of writes with an Idempotency-Key, for a day: a repeat is answered from here.
CREATE TABLE "idempotency_entries" (
    "workspace_id" UUID NOT NULL,
    "subject" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "position" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "answer" TEXT NOT NULL,
    "secret_set_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_entries_pkey" PRIMARY KEY ("workspace_id", "subject", "key", "position")
);

CREATE INDEX "idempotency_entries_created_at_idx" ON "idempotency_entries"("created_at");

ALTER TABLE "idempotency_entries" ADD CONSTRAINT "idempotency_entries_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;
