-- A lost lease counts as a try only if its holder is not heard of again (contract 4): which claims took a step, and
-- how many of its tries were given back. Servers before this write neither and count every try.
ALTER TABLE "steps" ADD COLUMN "tries_given_back" INTEGER NOT NULL DEFAULT 0, ADD COLUMN "taken_by" UUID[];

-- Who comes back names a claim that nothing else remembers.
CREATE INDEX "steps_open_taken_by" ON "steps" USING gin ("taken_by") WHERE "finished_at" IS NULL;
