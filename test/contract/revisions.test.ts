/** Revisions: reading, redeploy, interrupt (docs/deployments.md#revisions-and-rollouts), and the end of a deployment. */
import { describe, expect, test } from 'vitest'
import { bodies, NOWHERE, putStatus, useRestApp } from '../rest/support.ts'
import { type How, overBoth } from './api.ts'

const app = useRestApp()

const git = () => app.create(bodies.gitprovider(app.tenant.integrationId))
/** A deployment that may exist in the runtime, so it must be torn down. */
async function begun() {
  const deployment = await app.create()
  await app.core.db.step.updateMany({ where: { deploymentId: deployment.id }, data: { firstTakenAt: new Date() } })
  return deployment
}
/** Callers that must not find a deployment of the tenant. */
const strangers = () => [app.sibling, app.other].map(({ keys }): How => ({ key: keys.admin }))

overBoth(app, (api) => {
  const get = (deployment_id: string) => api.get('getDeployment', { deployment_id })
  const revise = async (deployment_id: string) => (await api.get('createRevision', { deployment_id })).id
  const act = (
    verb: 'redeployRevision' | 'interruptRevision' | 'getRevision',
    deployment_id: string,
    revision_id: string,
  ) => api.call(verb, { deployment_id, revision_id })

  describe('a revision', () => {
    test('shows every field', async () => {
      const { id: deployment_id, latest_revision_id: revision_id, source_revision_config } = await git()
      const shown = await api.get('getRevision', { deployment_id, revision_id })
      expect(shown).toEqual({
        id: revision_id,
        deployment_id,
        ...{
          status: 'CREATING',
          status_message: 'Preparing.',
          reason: 'IN_PROGRESS',
          reason_since: expect.any(String),
        },
        ...{ source: 'gitprovider', source_revision_config, attempt: 1, number: 1, trigger: 'create' },
        trace_id: null,
        ...{ commit_message: null, commit_author: null, superseded_by_id: null },
        created_by: { kind: 'api_key', name: expect.any(String), id: expect.any(String) },
        rollout_at: shown.created_at,
        rollout_by: shown.created_by,
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        updated_at: expect.any(String),
      })
    })

    test('is listed newest first, and found by its status', async () => {
      const { id: deployment_id, latest_revision_id: first } = await git()
      const [second, third] = [await revise(deployment_id), await revise(deployment_id)]
      const listed = await api.get('listRevisions', { deployment_id })
      expect(listed.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
        [third, 'CREATING'],
        [second, 'SKIPPED'],
        [first, 'SKIPPED'],
      ])
      expect(listed[1].superseded_by_id).toBe(third)
    })

    test('can be read by several concurrent calls, each of which gets its own or nothing', async () => {
      const made = await Promise.all(Array.from({ length: 8 }, git))
      const asked = [...made.map((one) => [one.id, one.latest_revision_id]), [made[0].id, NOWHERE]]
      const answers = await Promise.all(asked.map(([id, revision]) => act('getRevision', id, revision)))
      expect(answers.map(({ value, code }) => value?.id ?? code)).toEqual([
        ...made.map((one) => one.latest_revision_id),
        'NOT_FOUND',
      ])
    })

    test('in use is rolled out again with the next attempt; the latest revision stays', async () => {
      const { id, latest_revision_id: first } = await git()
      await putStatus(app.core, first, 'DEPLOYED')
      const second = await revise(id)
      await putStatus(app.core, second, 'BUILD_FAILED')
      const { value, revision } = await act('redeployRevision', id, first)
      expect([value.id, value.latest_revision_id, revision]).toEqual([id, second, first])
      expect((await act('getRevision', id, first)).value).toMatchObject({ attempt: 2, status: 'AWAITING_BUILD' })
    })

    test('can’t be redeployed during progress, without anything to run, and when the deployment is being deleted', async () => {
      const running = await git()
      const refused = async ({ id, latest_revision_id }: typeof running) => {
        const { code, message } = await act('redeployRevision', id, latest_revision_id)
        expect(code).toBe('NOT_REDEPLOYABLE')
        return message
      }
      expect(await refused(running)).toContain('it is being prepared')
      const empty = await app.create()
      await putStatus(app.core, empty.latest_revision_id, 'DEPLOY_FAILED')
      expect(await refused(empty)).toContain('nothing to build or run')
      await app.core.db.deployment.update({ where: { id: running.id }, data: { deletedAt: new Date() } })
      expect(await refused(running)).toContain('being deleted')
    })

    test('is interrupted immediately, once', async () => {
      const { id, latest_revision_id } = await git()
      const both = await Promise.all([1, 2].map(() => act('interruptRevision', id, latest_revision_id)))
      expect(both.map(({ code }) => code ?? 'done').sort()).toEqual(['CONFLICT', 'done'])
      expect(both.find(({ ok }) => ok)!.value).toMatchObject({ id: latest_revision_id, status: 'INTERRUPTED' })
      const again = await Promise.all([1, 2].map(() => act('redeployRevision', id, latest_revision_id)))
      expect(again.map(({ code }) => code ?? 'done').sort()).toEqual(['NOT_REDEPLOYABLE', 'done'])
    })

    test('goes its whole life over one transport', async () => {
      const { id, latest_revision_id: first } = await git()
      const input = { deployment_id: id, revision_id: await revise(id) }
      await api.fails('interruptRevision', { ...input, revision_id: first }, 'CONFLICT')
      expect((await api.get('redeployRevision', { ...input, revision_id: first })).id).toBe(id)
      await api.fails('redeployRevision', { ...input, revision_id: first }, 'NOT_REDEPLOYABLE')
      expect(await api.get('interruptRevision', { ...input, revision_id: first })).toMatchObject({
        status: 'INTERRUPTED',
        attempt: 2,
      })
      for (const _ of [1, 2]) await api.get('deleteDeployment', { deployment_id: id })
      await api.fails('getRevision', input, 'NOT_FOUND')
    })
  })

  describe.each(['redeployRevision', 'interruptRevision', 'getRevision'] as const)('%s', (verb) => {
    test('finds nothing unknown and nothing of another tenant; invalid ids are refused', async () => {
      const { id, latest_revision_id: revision_id } = await git()
      const other = await git()
      const missing = (input: object, how?: How) => api.fails(verb, { ...input }, 'NOT_FOUND', how)
      expect((await missing({ deployment_id: id, revision_id: NOWHERE })).message).toBe(
        `Revision ID ${NOWHERE} not found.`,
      )
      for (const how of strangers()) await missing({ deployment_id: id, revision_id }, how)
      // GraphQL names a revision alone
      if (verb === 'getRevision' && api.over === 'GraphQL') return
      const unknown = await missing({ deployment_id: NOWHERE, revision_id })
      expect(unknown.message).toBe(`Deployment ID ${NOWHERE} not found.`)
      const crossed = await missing({ deployment_id: other.id, revision_id })
      expect(crossed.message).toBe(`Revision ID ${revision_id} not found.`)
      await api.refuses(verb, { deployment_id: 'a', revision_id: 'b' }, [
        'deployment_id uuid_parsing',
        'revision_id uuid_parsing',
      ])
    })

    test('is for viewers only if it reads', async () => {
      const { id: deployment_id, latest_revision_id: revision_id } = await git()
      const { code } = await api.call(verb, { deployment_id, revision_id }, { key: app.keys.viewer })
      expect(code).toBe(verb === 'getRevision' ? undefined : 'FORBIDDEN')
    })
  })

  describe('deleting a deployment', () => {
    const remove = (deployment_id: string, more: object = {}, how?: How) =>
      api.call('deleteDeployment', { deployment_id, ...more }, how)

    test('shows AWAITING_DELETE and its revision INTERRUPTED; again changes nothing', async () => {
      const { id, latest_revision_id } = await begun()
      expect((await remove(id)).ok).toBe(true)
      const shown = { status: 'AWAITING_DELETE', active_revision_id: null, status_message: expect.any(String) }
      expect(await get(id)).toMatchObject(shown)
      expect((await act('getRevision', id, latest_revision_id)).value.status).toBe('INTERRUPTED')
      expect((await Promise.all([remove(id), remove(id)])).map(({ ok }) => ok)).toEqual([true, true])
    })

    test('that was never begun leaves nothing, immediately; again is fine', async () => {
      const { id } = await app.create()
      for (const _ of [1, 2]) {
        expect((await remove(id)).ok).toBe(true)
        expect((await api.fails('getDeployment', { deployment_id: id }, 'NOT_FOUND')).message).toBe(
          `Deployment ID ${id} not found.`,
        )
      }
    })

    test('keeps the tracing project unless delete_tracing_project is set', async () => {
      for (const delete_tracing_project of [false, true]) {
        const { id, name } = await app.create()
        await remove(id, { delete_tracing_project })
        expect(await app.core.db.tracingProject.count({ where: { name } })).toBe(delete_tracing_project ? 0 : 1)
      }
    })

    test('by force needs an admin, and drops what can’t be torn down', async () => {
      const { id } = await begun()
      expect((await remove(id, { force: true }, { key: app.keys.deployer })).code).toBe('FORBIDDEN')
      expect((await get(id)).status).not.toBe('AWAITING_DELETE')
      expect((await remove(id, { force: true })).ok).toBe(true)
      await api.fails('getDeployment', { deployment_id: id }, 'NOT_FOUND')
    })

    test('is refused to viewers, for unknown ids and another tenant’s, and for invalid ones', async () => {
      const { id } = await app.create()
      expect((await remove(id, {}, { key: app.keys.viewer })).code).toBe('FORBIDDEN')
      for (const refused of [
        await remove(NOWHERE),
        ...(await Promise.all(strangers().map((how) => remove(id, {}, how)))),
      ])
        expect(refused.code).toBe('NOT_FOUND')
      for (const verb of ['deleteDeployment', 'getDeployment'] as const)
        await api.refuses(verb, { deployment_id: 'nope' }, ['deployment_id uuid_parsing'])
    })
  })

  describe('deleting several deployments', () => {
    const remove = (deployment_ids: string[], how?: How) => api.call('deleteDeployments', { deployment_ids }, how)

    test('deletes each, and reports those that it does not find', async () => {
      const made = [await begun(), await app.create()]
      expect((await remove(made.map(({ id }) => id))).value).toEqual(
        made.map(({ id }) => ({ deployment_id: id, deleted: true, message: null })),
      )
      const one = await begun()
      const stranger = await app.create(undefined, { key: app.other.keys.admin })
      const missing = (id: string) => ({ deployment_id: id, deleted: false, message: `Deployment ID ${id} not found.` })
      const some = await remove([NOWHERE, one.id, stranger.id])
      expect(some.value).toEqual([
        missing(NOWHERE),
        { deployment_id: one.id, deleted: true, message: null },
        missing(stranger.id),
      ])
      if (api.over === 'REST') expect(some.answer.status).toBe(207)
      for (const { id } of [made[0], one]) expect((await get(id)).status).toBe('AWAITING_DELETE')
      await api.get('getDeployment', { deployment_id: stranger.id }, { key: app.other.keys.admin })
    })

    test('deletes an id that is named twice once', async () => {
      const { id } = await begun()
      expect((await remove([id, id])).value).toHaveLength(1)
    })

    test('of more than 100, with an invalid id, or by a viewer is refused', async () => {
      await api.refuses('deleteDeployments', { deployment_ids: Array(101).fill(NOWHERE) }, ['deployment_ids too_long'])
      await api.refuses('deleteDeployments', { deployment_ids: [NOWHERE, 'x'] }, ['deployment_ids.1 uuid_parsing'])
      await api.fails('deleteDeployments', { deployment_ids: [NOWHERE] }, 'FORBIDDEN', { key: app.keys.viewer })
    })
  })
})
