// prisma/migrations is what servers apply, prisma/schema.prisma is what the client is generated from: they agree on
// every table, column, type, nullability, enum and index. (Prisma's own comparison needs a native engine.)
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { asAdmin, useDatabase } from '../support/database.ts'

const schema = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8').replace(/\/\/.*$/gm, '')
const blocks = (kind: 'model' | 'enum') =>
  [...schema.matchAll(new RegExp(`^${kind} (\\w+) \\{\n(.*?)^\\}`, 'gms'))].map(([, name, body]) => ({
    name: name!,
    lines: body!
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  }))
const enums = blocks('enum')
const models = blocks('model').map(({ name, lines }) => {
  const fields = lines
    .filter((line) => !line.startsWith('@@'))
    .map((line) => {
      const [, field, type, mark, rest] = /^(\w+)\s+(\w+)(\[\]|\?)?\s*(.*)$/.exec(line)!
      return { field: field!, type: type!, mark, rest: rest!, column: /@map\("(\w+)"\)/.exec(rest!)?.[1] ?? field! }
    })
  return { name, table: lines.join('\n').match(/@@map\("(\w+)"\)/)?.[1] ?? name, lines, fields }
})
const modelNames = new Set(models.map(({ name }) => name))

/** Postgres's name of a field's type, as format_type() has it. */
function postgresType(type: string, rest: string): string {
  if (rest.includes('@db.Uuid')) return 'uuid'
  if (rest.includes('@db.SmallInt')) return 'smallint'
  if (rest.includes('@db.Real')) return 'real'
  const precision = /@db\.Timestamptz\((\d)\)/.exec(rest)?.[1]
  if (precision) return `timestamp(${precision}) with time zone`
  const plain = {
    String: 'text',
    Int: 'integer',
    BigInt: 'bigint',
    Boolean: 'boolean',
    Float: 'double precision',
    Json: 'jsonb',
    Bytes: 'bytea',
  }
  return plain[type as keyof typeof plain] ?? `"${type}"`
}

const database = useDatabase()
const strings = (sql: string) =>
  asAdmin(database.url, async (client) => (await client.query<{ it: string }>(sql)).rows.map(({ it }) => it).sort())

test('the database has exactly the schema’s columns, with their types and nullability', async () => {
  const expected = models.flatMap(({ table, fields }) =>
    fields
      .filter(({ type }) => !modelNames.has(type))
      .map(({ column, type, mark, rest }) => {
        const list = mark === '[]'
        // Prisma makes list columns nullable and never writes null to them
        return `${table}.${column} ${postgresType(type, rest)}${list ? '[]' : ''}${mark ? '' : ' not null'}`
      }),
  )
  const actual = await strings(`
    SELECT concat(c.relname, '.', a.attname, ' ', format_type(a.atttypid, a.atttypmod),
                  CASE WHEN a.attnotnull THEN ' not null' END) AS it
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped
       AND c.relname <> '_prisma_migrations'`)
  expect(actual).toEqual(expected.sort())
})

test('every enum of the schema has the same values in the database, in the same order', async () => {
  const expected = enums.map(({ name, lines }) => `${name}: ${lines.join(' ')}`)
  const actual = await strings(`
    SELECT concat(t.typname, ': ', string_agg(e.enumlabel, ' ' ORDER BY e.enumsortorder)) AS it
      FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid GROUP BY t.typname`)
  expect(actual).toEqual(expected.sort())
})

test('every key and index of the schema is in the database', async () => {
  const columns = (model: (typeof models)[0], list: string) =>
    list
      .replace(/\(sort: Desc\)/g, ' DESC')
      .split(',')
      .map((part) => {
        const [field, order] = part.trim().split(' ')
        const column = model.fields.find((candidate) => candidate.field === field)!.column
        return order ? `${column} ${order}` : column
      })
      .join(', ')
  const expected = models.flatMap((model) => [
    ...model.lines.flatMap((line) => {
      const [, kind, list] = /^@@(id|unique|index)\(\[(.*)\]/.exec(line) ?? []
      return list ? [`${model.table}${kind === 'index' ? '' : ' unique'} (${columns(model, list)})`] : []
    }),
    ...model.fields
      .filter(({ rest }) => /@(id|unique)\b/.test(rest))
      .map(({ column }) => `${model.table} unique (${column})`),
  ])
  const actual = await strings(`
    SELECT concat(c.relname, CASE WHEN i.indisunique THEN ' unique' END,
                  ' ', replace(substring(pg_get_indexdef(i.indexrelid) FROM '\\(.*\\)'), '"', '')) AS it
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relname <> '_prisma_migrations' AND i.indpred IS NULL AND i.indexprs IS NULL`)
  expect(actual).toEqual(expected.sort())
})

test('SQL constraints hold: one live name, one open step, complete leases, attempts from 1', async () => {
  const run = (sql: string) => asAdmin(database.url, (client) => client.query(sql))
  const [organization, workspace, deployment] = [1, 2, 3].map((n) => `00000000-0000-7000-8000-00000000000${n}`)
  await run(`
    INSERT INTO organizations (id, name, plan) VALUES ('${organization}', 'o', 'plus');
    INSERT INTO workspaces (id, organization_id, name) VALUES ('${workspace}', '${organization}', 'w');`)
  const insertDeployment = (id: string, deleted: string) =>
    run(`INSERT INTO deployments (id, workspace_id, name, source, updated_at, deleted_at)
         VALUES ('${id}', '${workspace}', 'same', 'gitprovider', now(), ${deleted})`)
  await insertDeployment(organization!, 'now()')
  await insertDeployment(workspace!, 'now()')
  await insertDeployment(deployment!, 'NULL')
  await expect(insertDeployment('00000000-0000-7000-8000-000000000004', 'NULL')).rejects.toThrow(
    'deployments_live_name',
  )

  const insertStep = (finished: string) =>
    run(`INSERT INTO steps (id, deployment_id, kind, finished_at)
         VALUES (gen_random_uuid(), '${deployment}', 'PROVISION', ${finished})`)
  await insertStep('now()')
  await insertStep('NULL')
  await expect(insertStep('NULL')).rejects.toThrow('steps_open')

  await expect(run(`UPDATE deployments SET claim_id = gen_random_uuid()`)).rejects.toThrow('deployments_lease_whole')
  await expect(
    run(`INSERT INTO revisions (id, deployment_id, number, rollout, attempt, source, updated_at)
         VALUES (gen_random_uuid(), '${deployment}', 1, 1, 0, 'gitprovider', now())`),
  ).rejects.toThrow('revisions_attempt_from_1')
})

test('a listener’s key is complete or revoked, and a listener with deployments can’t be deleted', async () => {
  const run = (sql: string) => asAdmin(database.url, (client) => client.query(sql))
  const id = '00000000-0000-7000-8000-0000000000aa'
  await run(`
    INSERT INTO organizations (id, name, plan) VALUES ('${id}', 'o', 'plus');
    INSERT INTO workspaces (id, organization_id, name) VALUES ('${id}', '${id}', 'w');
    INSERT INTO listeners (id, workspace_id, compute_type, compute_id, updated_at) VALUES ('${id}', '${id}', 'k8s', 'c', now());
    INSERT INTO deployments (id, workspace_id, name, source, updated_at, listener_id)
      VALUES ('${id}', '${id}', 'd', 'external_container', now(), '${id}')`)
  const insertKey = (hash: string, role: string, listener: string, workspace: string, more = 'false, NULL') =>
    run(`INSERT INTO api_keys (id, organization_id, name, prefix, hash, role, listener_id, workspace_id, secrets_read, revoked_at)
         VALUES (gen_random_uuid(), '${id}', 'k', 'p', '${hash}', '${role}', ${listener}, ${workspace}, ${more})`)
  const own = `'${id}'`
  for (const wrong of [
    () => insertKey('1', 'listener', 'NULL', own),
    () => insertKey('2', 'listener', own, 'NULL'),
    () => insertKey('3', 'listener', own, own, 'true, NULL'),
    () => insertKey('4', 'viewer', own, own),
  ])
    await expect(wrong()).rejects.toThrow('api_keys_listener_whole')
  await expect(run(`DELETE FROM listeners`)).rejects.toThrow('deployments_listener_id_fkey')
  await insertKey('5', 'listener', own, own)
  await run(`DELETE FROM deployments WHERE id = '${id}'`)
  await expect(run(`DELETE FROM listeners`)).rejects.toThrow('api_keys_listener_whole')
  await run(`UPDATE api_keys SET revoked_at = now(); DELETE FROM listeners`)
})
