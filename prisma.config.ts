// Configuration of Prisma's CLI. The server doesn't read it: it applies prisma/migrations itself at start.
import { defineConfig } from 'prisma/config'

// `generate` needs no schema engine, but the CLI would download one: point it to an existing program.
if (process.argv.includes('generate')) process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(process.env.DATABASE_URL ? { datasource: { url: process.env.DATABASE_URL } } : {}),
})
