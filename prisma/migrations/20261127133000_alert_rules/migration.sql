-- CreateTable
CREATE TABLE "alert_rules" (
    "id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "deployment_id" UUID,
    "threshold" DOUBLE PRECISION,
    "minutes" INTEGER NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "edit" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "alert_rules_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "alerts" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "rule_id" UUID NOT NULL,
    "workspace_id" UUID NOT NULL,
    "deployment_id" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "fired_at" TIMESTAMPTZ(3),
    "resolved_at" TIMESTAMPTZ(3),
    "value" DOUBLE PRECISION,

    CONSTRAINT "alerts_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "alert_rules_workspace_id_created_at_idx" ON "alert_rules"("workspace_id", "created_at");

-- CreateIndex
CREATE INDEX "alert_rules_kind_idx" ON "alert_rules"("kind");

-- CreateIndex
CREATE INDEX "alerts_workspace_id_created_at_idx" ON "alerts"("workspace_id", "created_at");

-- CreateIndex
CREATE INDEX "alerts_resolved_at_idx" ON "alerts"("resolved_at");

-- CreateIndex
CREATE INDEX "alerts_rule_id_idx" ON "alerts"("rule_id");

-- AddForeignKey
ALTER TABLE "alert_rules" ADD CONSTRAINT "alert_rules_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspaces"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "alerts" ADD CONSTRAINT "alerts_rule_id_fkey" FOREIGN KEY ("rule_id") REFERENCES "alert_rules"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- A rule has at most one open alert for a deployment: several servers open it once.
CREATE UNIQUE INDEX "alerts_open" ON "alerts"("rule_id", "deployment_id") WHERE "resolved_at" IS NULL;
