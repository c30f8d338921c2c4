/** Output of pods in the deploy log of their revision: each line once, and no secret. */
import { expect, test, vi } from 'vitest'
import { image, serving, type Tenant, useSite } from './runtime-support.ts'

const site = useSite({ followedLogs: 3 })

const SECRET = 'sk-very-secret-value'

/** Prints a line in each server pod. Only a stand-in can do so. */
async function print(tenant: Tenant, line: string): Promise<void> {
  for (const { metadata } of await tenant.pods())
    site.test.standIn?.print({ namespace: site.namespace, name: metadata!.name! }, line)
}

const podNames = async (tenant: Tenant) =>
  (await tenant.pods()).map(({ metadata }) => metadata!.name!.replace(`${tenant.names.base}-`, ''))

const logging = (spec = {}) => serving(site, { spec }, { secrets: [{ name: 'KEY', value: SECRET }] })

test('each log line arrives once and without secrets, even after a cut connection', async () => {
  const tenant = await logging()
  if (!site.test.standIn) return
  await print(tenant, `one ${SECRET}`)
  await tenant.log.seen(/ one /)
  site.test.standIn.disconnect()
  await print(tenant, 'two')
  await tenant.log.seen(/ two$/)
  await print(tenant, 'three')
  await tenant.log.seen(/ three$/)
  const printed = tenant.log.lines.filter((line) => / (one|two|three)\b/.test(line))
  const [pod] = await podNames(tenant)
  expect(printed).toEqual([`[${pod}] one ••••••••`, `[${pod}] two`, `[${pod}] three`])
  expect(tenant.log.lines.join('\n')).not.toContain(SECRET)
  // from the start of the pod
  expect(tenant.log.lines.filter((line) => /starting/.test(line))).toHaveLength(1)
})

test('a cut log is followed again even if the retry timer fires early', async () => {
  const tenant = await logging()
  if (!site.test.standIn) return
  await print(tenant, 'before')
  await tenant.log.seen(/ before$/)
  // Timers fire up to a millisecond early, about once in fifty times; here always.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  try {
    site.test.standIn.disconnect()
    await print(tenant, 'after')
    await tenant.log.seen(/ after$/)
  } finally {
    clock.mockRestore()
  }
})

test('with several pods, each log line names its pod', async () => {
  const tenant = await logging({ min_scale: 2, max_scale: 2 })
  if (!site.test.standIn) return
  await print(tenant, 'hello')
  const [one, two] = await podNames(tenant)
  await tenant.log.seen(new RegExp(`^\\[${one}\\] hello$`))
  await tenant.log.seen(new RegExp(`^\\[${two}\\] hello$`))
})

test('the log contains the last output of a crashed container', async () => {
  const tenant = await logging()
  await expect(tenant.prepare(tenant.revision(image('crash')))).rejects.toThrow('keeps crashing')
  await tenant.log.seen(/it crashed/)
})

test('a new lease holder continues the log from its takeover', async () => {
  const tenant = await logging()
  if (!site.test.standIn) return
  await print(tenant, 'before')
  await tenant.log.seen(/ before$/)
  await site.runtime.drop(tenant.id)
  const { runtime } = await site.another()
  const other = tenant.takenOver(runtime, '2')
  other.ensure()
  await print(tenant, 'after')
  await other.log.seen(/ after$/)
  expect(other.log.lines.filter((line) => /before|starting/.test(line))).toEqual([])
  expect(tenant.log.lines.filter((line) => line.endsWith(' after'))).toEqual([])
})

test('the number of followed logs is limited, and the newest pods win', async () => {
  if (!site.test.standIn) return
  const tenant = await logging({ min_scale: 4, max_scale: 4 })
  await print(tenant, 'line')
  await print(tenant, 'last')
  const shown = (text: RegExp) => tenant.log.lines.filter((line) => text.test(line)).length
  await expect.poll(() => shown(/last$/) >= 3).toBeTruthy()
  expect([shown(/line$/), shown(/last$/)]).toEqual([3, 3])
})
