/** Logs over GraphQL: of a revision, and of a deployment across its revisions. */
import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { gitDeployment } from '../support/factories.ts'
import { writeLog } from '../support/log.ts'

const app = useApp()

const LOGS = `query ($id: ID!, $type: LogType!, $query: String, $level: LogLevel, $startTime: DateTime, $endTime: DateTime, $first: Int, $after: String, $last: Int, $before: String) {
  revision(id: $id) { logs(type: $type, query: $query, level: $level, startTime: $startTime, endTime: $endTime, first: $first, after: $after, last: $last, before: $before) { ...page } } }
  fragment page on LogConnection { nodes { message level attempt } edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`

describe('logs of a revision', () => {
  test('have pages and filters by text and level', async () => {
    const { latest_revision_id: revisionId } = await gitDeployment(app)
    const lines = ['first', 'second: Error', 'third'].map((message, i) => ({
      ...{ revisionId, attempt: 1, type: 'build' as const, message, time: new Date() },
      level: i === 1 ? ('error' as const) : ('info' as const),
    }))
    await writeLog(app.app.core, lines)
    const read = async (variables: object) => {
      const { data, errors } = await app.gql(LOGS, { id: revisionId, type: 'build', ...variables })
      expect(errors).toBeUndefined()
      const { nodes, pageInfo } = data.revision.logs
      return { messages: nodes.map((node: { message: string }) => node.message), pageInfo }
    }
    const page = await read({ first: 2 })
    expect(page).toMatchObject({ messages: ['first', 'second: Error'], pageInfo: { hasNextPage: true } })
    expect(await read({ first: 2, after: page.pageInfo.endCursor })).toMatchObject({
      messages: ['third'],
      pageInfo: { hasNextPage: false },
    })
    expect((await read({ query: 'ERROR' })).messages).toEqual(['second: Error'])
    expect((await read({ level: 'warning' })).messages).toEqual(['second: Error'])
    expect((await read({ type: 'deploy' })).messages).toEqual([])
    const newest = await read({ last: 2 })
    expect(newest).toMatchObject({
      messages: ['second: Error', 'third'],
      pageInfo: { hasPreviousPage: true, hasNextPage: false },
    })
    expect(await read({ last: 2, before: newest.pageInfo.startCursor })).toMatchObject({
      messages: ['first'],
      pageInfo: { hasPreviousPage: false, hasNextPage: true },
    })
  })

  test('reject an invalid page size and cursor, and name the argument', async () => {
    const { latest_revision_id: id } = await gitDeployment(app)
    const paths = async (variables: object) =>
      (await app.gql(LOGS, { id, type: 'build', ...variables })).errors?.[0].extensions.issues[0].path
    expect(await paths({ first: 0 })).toEqual(['first'])
    expect(await paths({ after: 'nonsense' })).toEqual(['after'])
    expect(await paths({ last: 1001 })).toEqual(['last'])
    expect(await paths({ last: 1, before: 'nonsense' })).toEqual(['before'])
    expect(await paths({ last: 1, first: 1 })).toEqual(['last'])
    expect(await paths({ first: 1, before: 'x' })).toEqual(['before'])
  })
})

test('logs can be limited to a range of time, as in REST', async () => {
  const { latest_revision_id: id } = await gitDeployment(app)
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second))
  const line = { revisionId: id, attempt: 1, type: 'build' as const }
  await writeLog(
    app.app.core,
    [0, 1, 2, 3].map((second) => ({ ...line, message: `${second}`, time: at(second) })),
  )
  const read = (variables: object) => app.gql(LOGS, { id, type: 'build', ...variables })
  const messages = async (variables: object) =>
    (await read(variables)).data.revision.logs.nodes.map((node: { message: string }) => node.message)
  expect(await messages({ startTime: at(2) })).toEqual(['2', '3'])
  expect(await messages({ startTime: at(1), endTime: at(3) })).toEqual(['1', '2'])
  expect(await messages({ endTime: at(3), last: 1 })).toEqual(['2'])
  const { errors } = await read({ startTime: at(2), endTime: at(1) })
  expect(errors![0].extensions.issues[0].path).toEqual(['endTime'])
})

test('the log of a deployment has the lines of all its revisions, each with id, revision, attempt and colours', async () => {
  const { id, latest_revision_id: first } = await gitDeployment(app)
  const { body } = await app.rest('POST', `/v2/deployments/${id}/revisions`, { body: {} })
  const second = body.id
  const line = (revisionId: string, message: string) => ({
    ...{ revisionId, attempt: 1, type: 'build' as const, message, time: new Date() },
    level: 'critical' as const,
  })
  await writeLog(app.app.core, [line(first, 'a'), { ...line(first, 'b'), styles: '0:32' }])
  await writeLog(app.app.core, [line(second, 'c')])
  const { data, errors } = await app.gql(
    `query ($id: ID!) { deployment(id: $id) { logs(type: build, level: critical) { nodes { id revisionId level message ansi attempt } } } }`,
    { id },
  )
  expect(errors).toBeUndefined()
  const { nodes } = data.deployment.logs
  expect(nodes).toMatchObject([
    { message: 'a', ansi: null, revisionId: first, attempt: 1, level: 'critical' },
    { message: 'b', ansi: '\u001b[0;32mb\u001b[0m', revisionId: first },
    { message: 'c', revisionId: second },
  ])
  const ids = nodes.map((node: { id: string }) => node.id)
  expect([...ids].sort()).toEqual(ids)
})
