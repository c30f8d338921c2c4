-- Whose builders a BUILD is offered to: the organization, so that its builders alone look for it and are woken.
ALTER TABLE "steps" ADD COLUMN "offered_to" UUID;

-- Few are offered at a time.
UPDATE "steps" s SET "offered_to" = w."organization_id" FROM "deployments" d JOIN "workspaces" w ON w."id" = d."workspace_id"
WHERE d."id" = s."deployment_id" AND s."offered_at" IS NOT NULL AND s."finished_at" IS NULL;
