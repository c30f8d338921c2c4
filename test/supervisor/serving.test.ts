// What a supervisor does on the word of a server: real supervisors, real agents.
import { afterEach, expect, test } from 'vitest'
import { alive } from '../dataplane/support.ts'
import { get, gone, newSupervisor, planOf, type Supervised, serve } from './support.ts'

const open: Supervised[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((supervised) => supervised.remove()))
})

async function started(...args: Parameters<typeof newSupervisor>): Promise<Supervised> {
  const supervised = await newSupervisor(...args)
  open.push(supervised)
  await supervised.start()
  return supervised
}

test('an agent serves at its address, and goes on when its server is gone; the next one finds it as it was', async () => {
  const supervised = await started()
  const first = await supervised.connect()
  const plan = planOf(supervised, 'one')
  const url = await serve(supervised, first, plan)
  expect(await get(url)).toBe('one')
  const pid = await get(`${url}/pid`)
  first.close()
  expect(await get(url)).toBe('one')
  const second = await supervised.connect('2')
  expect(second.welcome).toMatchObject({
    ok: true,
    state: { port: supervised.port, serving: { key: plan.key }, candidate: null, health: { ready: 1, message: null } },
  })
  expect(await second.ask({ verb: 'run', plan })).toMatchObject({ ok: true })
  expect(await get(`${url}/pid`)).toBe(pid)
})

test('a candidate takes over at the switch, and what it replaced ends when it is idle', async () => {
  const supervised = await started()
  const server = await supervised.connect()
  const [one, two] = [planOf(supervised, 'one'), planOf(supervised, 'two')]
  const url = await serve(supervised, server, one)
  const before = server.state().serving!.pid
  expect(await server.ask({ verb: 'prepare', plan: two, ms: 20_000 })).toMatchObject({ ok: true })
  expect(await get(url)).toBe('one')
  expect(await server.ask({ verb: 'hold', key: two.key })).toMatchObject({ ok: true })
  const held = get(url)
  expect(await server.ask({ verb: 'switch', key: two.key })).toMatchObject({ ok: true })
  expect(await held).toBe('two')
  await gone(before)
  const after = server.state().serving!.pid!
  expect(await server.ask({ verb: 'end', drainMs: 0 })).toMatchObject({ ok: true })
  expect(alive(after)).toBe(false)
})
