-- The git provider's id of a repository. It survives a rename, unlike the name in repo_url.
-- deployments: as the newest build found it. Null: not built by this version yet, or not from an `app` integration.
ALTER TABLE "deployments" ADD COLUMN "repository_id" BIGINT;
-- webhook_deliveries: the repository of a push. Null: another event, or received by an earlier version.
ALTER TABLE "webhook_deliveries" ADD COLUMN "repository_id" BIGINT;
