-- Of each secret of a set when it was set, and by whom. Null: servers of before made the set.
ALTER TABLE "secret_sets" ADD COLUMN "set_by" JSONB;
