/** `npm run schema` writes schema.graphql, sorted so that diffs stay small. */
import { writeFileSync } from 'node:fs'
import { lexicographicSortSchema, printSchema } from 'graphql'
import { schema } from './schema.ts'

const file = new URL('../../../schema.graphql', import.meta.url)
writeFileSync(file, `${printSchema(lexicographicSortSchema(schema))}\n`)
