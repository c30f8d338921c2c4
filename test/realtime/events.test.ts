/** Pages of the event log in GraphQL, for a deployment or a revision. */
import { beforeEach, describe, expect, test } from 'vitest'
import { countEvents, type EventSubjects, listEvents } from '../../src/domain/events/list.ts'
import { eventCursor } from '../../src/domain/events/range.ts'
import type { Window } from '../../src/domain/paging/paging.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { countStatements } from '../support/database.ts'
import { as, useDomain } from '../support/domain.ts'
import { imageDeployment, move, ROLLOUT } from './support.ts'

const domain = useDomain()
let ctx: RequestContext
let app: { deploymentId: string; revisionId: string }
beforeEach(async () => {
  ctx = await domain.tenant()
  app = await imageDeployment(ctx)
  await move(ctx, app.revisionId, ROLLOUT)
})

/** The page of one deployment or revision. */
async function window(caller: RequestContext, page: Window, by: EventSubjects['by'], id: string) {
  return (await listEvents(caller, page, { by, ids: [id] })).get(id)!
}

const statuses = (rows: { toStatus: string | null }[]) => rows.map((row) => row.toStatus)

describe('The events of a deployment', () => {
  test('are complete, oldest first, page by page, each page one statement', async () => {
    const { deploymentId } = app
    const seen = []
    let after: string | undefined
    for (let more = true; more; ) {
      let page!: Awaited<ReturnType<typeof window>>
      const read = async () => {
        page = await window(ctx, { first: 2, after }, 'deploymentId', deploymentId)
      }
      expect(await countStatements(domain.database, read)).toHaveLength(1)
      seen.push(...page.rows)
      after = eventCursor(page.rows.at(-1)!)
      more = page.hasMore
    }
    expect(seen.map((e) => e.type)).toEqual(['deployment.created', ...Array(5).fill('revision.status')])
    const counts = await countEvents(ctx, { by: 'deploymentId', ids: [deploymentId] })
    expect(counts).toEqual(new Map([[deploymentId, { count: 6, isEstimate: false }]]))
  })

  test('can be read from the newest end, in the same order', async () => {
    const { revisionId } = app
    const newest = await window(ctx, { last: 2 }, 'revisionId', revisionId)
    expect([statuses(newest.rows), newest.hasMore]).toEqual([['DEPLOYING', 'DEPLOYED'], true])
    const before = await window(ctx, { last: 10, before: eventCursor(newest.rows[0]!) }, 'revisionId', revisionId)
    expect([statuses(before.rows), before.hasMore]).toEqual([['CREATING', 'QUEUED', 'AWAITING_DEPLOY'], false])
  })

  test('are an empty list for another tenant, and its cursors are refused', async () => {
    const stranger = await domain.tenant()
    const { deploymentId } = app
    const [first] = (await window(ctx, { first: 1 }, 'deploymentId', deploymentId)).rows
    expect((await window(stranger, {}, 'deploymentId', deploymentId)).rows).toEqual([])
    const counted = await countEvents(stranger, { by: 'deploymentId', ids: [deploymentId] })
    expect(counted.get(deploymentId)).toEqual({ count: 0, isEstimate: false })
    const theirs = window(stranger, { after: eventCursor(first!) }, 'deploymentId', deploymentId)
    await expect(theirs).rejects.toMatchObject({
      violations: [{ loc: ['query', 'after'], type: 'cursor_invalid' }],
    })
  })

  test('need the role viewer', async () => {
    const { deploymentId } = app
    await expect(window(as(ctx, 'listener'), {}, 'deploymentId', deploymentId)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect((await window(as(ctx, 'viewer'), {}, 'deploymentId', deploymentId)).rows).not.toEqual([])
  })
})
