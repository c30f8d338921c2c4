/**
 * Two replicas of one listener. The holder of a deployment is stopped with SIGSTOP past its lease, and resumed after
 * the other replica has made a newer revision serve.
 */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { eventually } from '../dataplane/support.ts'
import { type ClusterPlace, openClusterPlace } from './cluster-place.ts'

const image = (tag: string) => `registry.example.com/acme/agent:${tag}`

// real pods of a real cluster take longer
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

let place: ClusterPlace
beforeAll(async () => {
  place = await openClusterPlace()
  await Promise.all([place.startListener({ LEASE_SECONDS: '5' }), place.startListener({ LEASE_SECONDS: '5' })])
})
afterAll(() => place?.close())

const holderOf = async (id: string) => {
  const { leaseHolder } = await place.app.app.core.db.deployment.findUniqueOrThrow({ where: { id } })
  return place.listeners.find(({ child }) => leaseHolder?.includes(`:${child.pid}:`))
}

// `npm run chaos -- stopped-listener` stops it in the second state, too
const STATES = process.env.LONG_FORM === 'on' ? ['DEPLOYING', 'DEPLOYED'] : ['DEPLOYING']

test.each(STATES)(
  'a replica stopped in %s and resumed past its lease undoes nothing and reports nothing',
  async (status) => {
    const deployed = await place.create(image('1'))
    await deployed.deployed(await deployed.latest())
    const second = await deployed.update(image('2'))
    await deployed.until(second, status)
    const stale = (await holderOf(deployed.id))!
    stale.child.kill('SIGSTOP')
    try {
      const third = await deployed.update(image('3'))
      const other = await eventually(async () => {
        const holder = await holderOf(deployed.id)
        return holder !== stale && holder
      }, 20_000)
      expect(other).toBeTruthy()
      await deployed.deployed(third)
      const told = deployed.events.length
      const before = await server(deployed.id)
      stale.child.kill('SIGCONT')
      // its own clock has told it; any write of it would have arrived by the time the other one serves
      expect(await eventually(() => stale.output.stdout.includes('The lease could not be renewed'), 20_000)).toBe(true)
      const another = await place.create(image('1'))
      await another.deployed(await another.latest())
      expect(deployed.events.slice(told)).toEqual([])
      const after = await server(deployed.id)
      expect(after.spec.template.spec.containers[0].image).toBe(image('3'))
      expect(after.metadata.generation).toBe(before.metadata.generation)
      expect((await deployed.read()).active_revision_id).toBe(third)
    } finally {
      stale.child.kill('SIGCONT')
    }
  },
)

const server = (id: string) => place.objects.get('apps/v1', 'Deployment', place.namespace, `ph-${id}-server`)
