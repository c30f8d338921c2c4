// Prisma's CLI reads this. The server itself never does: it applies prisma/migrations on its own at start.
import { defineConfig } from 'prisma/config'

// `generate` needs no schema engine, yet the CLI would download one first: point it at something that exists.
if (process.argv.includes('generate')) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(process.env.DATABASE_URL ? { datasource: { url: process.env.DATABASE_URL } } : {}),
})
