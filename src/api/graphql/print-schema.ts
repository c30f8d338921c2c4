/** `npm run schema` writes schema.graphql, sorted so that diffs stay small. */
import { lexicographicSortSchema, printSchema } from 'graphql'
import { writeOrCheck } from '../../platform/files/generated-file.ts'
import { schema } from './schema.ts'

writeOrCheck(new URL('../../../schema.graphql', import.meta.url), `${printSchema(lexicographicSortSchema(schema))}\n`)
