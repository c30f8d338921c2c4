-- Where a deployment is reached, as its data plane reports it. Of all sources but one it was kept in custom_url already.
ALTER TABLE "deployments" ADD COLUMN "url" TEXT;
UPDATE "deployments" SET "url" = "custom_url" WHERE "source" <> 'external_container' AND "custom_url" IS NOT NULL;
