-- The workspace whose admins may change and delete the provider. Null: created by an earlier version, which did not record it.
ALTER TABLE "oauth_providers" ADD COLUMN "created_in" UUID;
