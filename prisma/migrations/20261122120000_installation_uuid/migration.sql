-- What runs outside of the server belongs to one database, also after that was restored from a backup.
ALTER TABLE "installation" ADD COLUMN "uuid" UUID NOT NULL DEFAULT gen_random_uuid();
