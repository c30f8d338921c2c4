/** The restart of a running revision (docs/deployments.md#restart): no rollout, and the holder applies it once. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { localControlPlane } from '../../src/domain/claims/control-plane.ts'
import { bodies, NOWHERE, useRestApp } from '../rest/support.ts'
import { beat, claimOne, workOff } from '../support/holder.ts'
import { overBoth } from './api.ts'

const app = useRestApp()

const plane = () => localControlPlane(app.core)
const HEALTHY = { ready: 1, desired: 1, message: null }

/** A deployment whose first revision is deployed, with its holder's claim and the newest generation. */
async function running() {
  const { id: deployment_id, latest_revision_id } = await app.create(bodies.gitprovider(app.tenant.integrationId))
  const claim = await claimOne(plane(), deployment_id)
  await workOff(plane(), claim)
  const { assignment } = await beat(plane(), claim, { health: HEALTHY })
  return { deployment_id, latest_revision_id, claim, generation: assignment!.generation }
}

const restarts = (deploymentId: string) =>
  app.core.db.event.findMany({ where: { deploymentId, type: 'deployment.restarted' }, orderBy: { sequence: 'asc' } })

overBoth(app, (api) => {
  const get = (deployment_id: string) => api.get('getDeployment', { deployment_id })
  const restart = (deployment_id: string) => api.get('restartDeployment', { deployment_id })

  describe('a restart', () => {
    test('keeps the revision and its status, and is an event with its actor', async () => {
      const { deployment_id, latest_revision_id } = await running()
      const before = await get(deployment_id)
      expect(before).toMatchObject({ restarted_at: null, restarting: false })
      const after = await restart(deployment_id)
      expect(after).toEqual({
        ...before,
        restarted_at: expect.stringMatching(/Z$/),
        restarting: true,
        updated_at: after.last_change.at,
        last_change: { ...after.last_change, what: 'RESTARTED', changed: [], revision_id: null },
      })
      expect(await get(deployment_id)).toEqual(after)
      const revisions = await api.get('listRevisions', { deployment_id })
      expect(revisions).toMatchObject([{ id: latest_revision_id, status: 'DEPLOYED', attempt: 1 }])
      const told = { revisionId: latest_revision_id, actorKind: 'api_key', actorName: after.last_change.actor.name }
      expect(await restarts(deployment_id)).toMatchObject([told])
    })

    test('is in the run of the holder until it reports that it is done, and stays done', async () => {
      const { deployment_id, claim, generation } = await running()
      const { restarted_at: restartedAt } = await restart(deployment_id)
      const { assignment } = await beat(plane(), claim, { generation, health: HEALTHY })
      expect(assignment).toMatchObject({ run: { restartedAt }, step: null })
      expect((await get(deployment_id)).restarting).toBe(true)
      await beat(plane(), claim, { health: { ...HEALTHY, restartedAt } })
      expect(await get(deployment_id)).toMatchObject({ restarting: false, health: { ready: 1 } })
      // the next holder does not know yet
      await plane().release(claim)
      const next = await claimOne(plane(), deployment_id)
      expect(next.run).toMatchObject({ restartedAt })
      await beat(plane(), next, { health: { ...HEALTHY, ready: 0 } })
      expect(await get(deployment_id)).toMatchObject({ restarting: false, health: { ready: 0 } })
    })

    test('follows from another limit of memory or CPU', async () => {
      const { deployment_id } = await running()
      const patch = (resource_spec: object) =>
        api.get('updateDeployment', { deployment_id, source_config: { resource_spec } })
      expect(await patch({ labels: { team: 'a' } })).toMatchObject({ restarting: false })
      const limited = await patch({ memory_mb: 300 })
      expect(limited).toMatchObject({ restarting: true, last_change: { what: 'UPDATED' } })
      expect(await patch({ memory_limit_mb: 600 })).toMatchObject({ restarted_at: limited.restarted_at })
      expect((await patch({ cpu: 1, memory_limit_mb: 600 })).restarted_at).not.toBe(limited.restarted_at)
      const event = await app.core.db.event.findFirst({
        where: { deploymentId: deployment_id, message: { not: null } },
      })
      expect(event).toMatchObject({ type: 'deployment.updated', message: 'The agent restarts with its new limits.' })
    })

    test('does not follow from another limit in a cluster, which replaces the pods', async () => {
      const { deployment_id } = await running()
      const { settings } = app.core
      const { runtime } = settings
      Object.assign(settings, { runtime: 'kubernetes' })
      onTestFinished(() => void Object.assign(settings, { runtime }))
      const source_config = { resource_spec: { memory_mb: 300 } }
      expect(await api.get('updateDeployment', { deployment_id, source_config })).toMatchObject({
        restarted_at: null,
        source_config,
      })
    })

    test('of a holder that reports another one is not done', async () => {
      const { deployment_id, claim } = await running()
      await restart(deployment_id)
      await beat(plane(), claim, { health: { ...HEALTHY, restartedAt: 'yesterday' } })
      expect((await get(deployment_id)).restarting).toBe(true)
    })

    test('by several callers at the same moment is lost for none', async () => {
      const { deployment_id } = await running()
      const all = await Promise.all([1, 2, 3, 4].map(() => restart(deployment_id)))
      const times = all.map(({ restarted_at }) => restarted_at).sort()
      expect(new Set(times).size).toBe(4)
      expect((await get(deployment_id)).restarted_at).toBe(times.at(-1))
      expect(await restarts(deployment_id)).toHaveLength(4)
    })

    test('is over with the next deploy, which starts new processes', async () => {
      const { deployment_id, claim, generation } = await running()
      await restart(deployment_id)
      await api.get('createRevision', { deployment_id })
      const { assignment } = await beat(plane(), claim, { generation })
      expect(assignment).toMatchObject({ run: { restartedAt: expect.any(String) }, step: { kind: 'DEPLOY' } })
      await workOff(plane(), { ...claim, step: assignment!.step })
      expect(await get(deployment_id)).toMatchObject({ restarted_at: null, restarting: false })
      expect((await beat(plane(), claim)).assignment!.run).not.toHaveProperty('restartedAt')
    })

    test('stays due when the rollout in progress fails', async () => {
      const { deployment_id, claim, generation } = await running()
      const revision_id = (await api.get('createRevision', { deployment_id })).id
      const { restarted_at: restartedAt } = await restart(deployment_id)
      await api.get('interruptRevision', { deployment_id, revision_id })
      const { assignment } = await beat(plane(), claim, { generation })
      expect(assignment).toMatchObject({ run: { restartedAt } })
      expect(await get(deployment_id)).toMatchObject({ restarting: true })
    })

    test('is refused while nothing runs, and during the deletion', async () => {
      const waiting = await app.create(bodies.gitprovider(app.tenant.integrationId))
      const input = { deployment_id: waiting.id }
      expect((await api.fails('restartDeployment', input, 'CONFLICT')).message).toContain('no running revision')
      const { deployment_id } = await running()
      await restart(deployment_id)
      await api.get('deleteDeployment', { deployment_id })
      expect((await api.fails('restartDeployment', { deployment_id }, 'CONFLICT')).message).toContain('being deleted')
      expect((await get(deployment_id)).restarting).toBe(false)
    })

    test('needs the role deployer, a deployment of the workspace, and its version if one is named', async () => {
      const { deployment_id } = await running()
      const input = { deployment_id }
      await api.fails('restartDeployment', input, 'FORBIDDEN', { key: app.keys.viewer })
      for (const key of [app.sibling.keys.admin, app.other.keys.admin])
        await api.fails('restartDeployment', input, 'NOT_FOUND', { key })
      await api.fails('restartDeployment', { deployment_id: NOWHERE }, 'NOT_FOUND')
      await api.refuses('restartDeployment', { deployment_id: 'x' }, ['deployment_id uuid_parsing'])
      await api.fails('restartDeployment', input, 'PRECONDITION_FAILED', { version: 99 })
      expect(await restarts(deployment_id)).toEqual([])
      const { version } = await api.call('getDeployment', input)
      const done = await api.call('restartDeployment', input, { version: version!, key: app.keys.deployer })
      expect(done.version).toBeGreaterThan(version!)
    })
  })
})
