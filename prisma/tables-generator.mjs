/**
 * A generator of `prisma generate`: writes the tables of schema.prisma to src/generated/tables.ts, for hand-written SQL.
 * Prisma's client knows names and types only as TypeScript types.
 */
import fs from 'node:fs'
import helper from '@prisma/generator-helper'

const TYPES = {
  String: 'text',
  Int: 'int',
  Boolean: 'bool',
  DateTime: 'time',
  BigInt: 'bigint',
  Bytes: 'bytes',
  Json: 'json',
}

const HEAD = `/** The tables of schema.prisma, for hand-written SQL. Written by \`prisma generate\` (prisma/tables-generator.mjs). */

/** \`text\` includes enums and uuids. \`time\`: timestamptz(3). \`texts\`: text[]. */
export type ColumnType = 'text' | 'texts' | 'int' | 'bool' | 'time' | 'bigint' | 'bytes' | 'json'

export interface Column {
  /** name in the database */
  readonly column: string
  readonly type: ColumnType
  /** Postgres computes it: no statement may set it */
  readonly generated: boolean
}

export interface Table {
  /** name in the database */
  readonly name: string
  /** by name of the field */
  readonly columns: Readonly<Record<string, Column>>
  /** by name of the field, each relation to one row: the model of that row, and our field with its id */
  readonly relations: Readonly<Record<string, readonly [model: Model, field: string]>>
}

`

const columnOf = ({ name, dbName, type, isList, default: value }) => ({
  column: dbName ?? name,
  type: isList ? 'texts' : (TYPES[type] ?? 'text'),
  generated: value?.name === 'dbgenerated' && value.args.length === 0,
})

function tableOf({ name, dbName, fields }) {
  const columns = fields.filter(({ kind }) => kind !== 'object')
  const relations = fields.filter(({ relationFromFields }) => relationFromFields?.length === 1)
  return {
    name: dbName ?? name,
    columns: Object.fromEntries(columns.map((field) => [field.name, columnOf(field)])),
    relations: Object.fromEntries(relations.map(({ name, type, relationFromFields: [id] }) => [name, [type, id]])),
  }
}

helper.generatorHandler({
  onManifest: () => ({ prettyName: 'tables', defaultOutput: '../src/generated/tables.ts' }),
  async onGenerate({ dmmf: { datamodel }, generator: { output } }) {
    const tables = datamodel.models.map((model) => [model.name, tableOf(model)])
    const names = tables.map(([name]) => `'${name}'`).join(' | ')
    const lines = tables.map(([name, table]) => `  ${name}: ${JSON.stringify(table)},\n`).join('')
    fs.writeFileSync(
      output.value,
      `${HEAD}export type Model = ${names}\n\nexport const TABLES: Readonly<Record<Model, Table>> = {\n${lines}}\n`,
    )
  },
})
