/** Alert rules over both transports (docs/alerts.md). */
import { expect, test } from 'vitest'
import { NOWHERE, useRestApp } from '../rest/support.ts'
import { gitDeployment } from '../support/factories.ts'
import { overBoth } from './api.ts'

const app = useRestApp()

overBoth(app, (api) => {
  const create = (more: object = {}) => api.get('createAlertRule', { name: 'watch', kind: 'error_rate', ...more })
  const of = ({ id }: { id: string }) => ({ alert_rule_id: id })

  test('a rule is created with the defaults of its kind, read back, listed, changed and deleted', async () => {
    const made = await create()
    expect(made).toEqual({
      id: expect.any(String),
      name: 'watch',
      kind: 'error_rate',
      deployment_id: null,
      threshold: 5,
      minutes: 5,
      enabled: true,
      created_by: expect.any(String),
      created_at: expect.any(String),
      updated_at: expect.any(String),
    })
    expect(await create({ kind: 'rollout_failed' })).toMatchObject({ threshold: null, minutes: 0 })
    const { id: deployment_id } = await gitDeployment(app)
    expect(await create({ kind: 'memory', deployment_id, threshold: 80.5, minutes: 60, enabled: false })).toMatchObject(
      {
        ...{ kind: 'memory', deployment_id, threshold: 80.5, minutes: 60, enabled: false },
      },
    )
    const viewer = { key: app.keys.viewer }
    expect(await api.get('getAlertRule', of(made), viewer)).toEqual(made)
    expect(await api.get('listAlertRules', {}, viewer)).toContainEqual(made)
    const changes = { name: 'errors', threshold: 1, minutes: 10, enabled: false }
    expect(await api.get('updateAlertRule', { ...of(made), ...changes })).toMatchObject(changes)
    expect((await api.call('deleteAlertRule', of(made))).ok).toBe(true)
    await api.fails('getAlertRule', of(made), 'NOT_FOUND')
  })

  test.each<[object, ...string[]]>([
    [{ kind: 'weather' }, 'kind enum'],
    [{ name: undefined }, 'name missing'],
    [{ threshold: 101 }, 'threshold value_error'],
    [{ minutes: 0 }, 'minutes greater_than_equal'],
    [{ minutes: 61 }, 'minutes less_than_equal'],
    [{ kind: 'rollout_failed', threshold: 1, minutes: 1 }, 'minutes value_error', 'threshold value_error'],
  ])('%j is refused', async (more, ...issues) => {
    await api.refuses('createAlertRule', { name: 'watch', kind: 'error_rate', ...more }, issues)
  })

  test('an unknown deployment is NOT_FOUND, and a viewer writes no rule', async () => {
    await api.fails('createAlertRule', { name: 'x', kind: 'memory', deployment_id: NOWHERE }, 'NOT_FOUND')
    const how = { key: app.keys.viewer }
    const own = of(await create())
    await api.fails('createAlertRule', { name: 'x', kind: 'memory' }, 'FORBIDDEN', how)
    await api.fails('updateAlertRule', { ...own, name: 'x' }, 'FORBIDDEN', how)
    await api.fails('deleteAlertRule', own, 'FORBIDDEN', how)
    expect((await api.call('updateAlertRule', { ...own, name: 'y' }, { key: app.keys.deployer })).ok).toBe(true)
  })

  test('alerts are listed by their state', async () => {
    const { id: ruleId } = await create({ enabled: false })
    const { id: deploymentId } = await gitDeployment(app)
    const row = { ruleId, workspaceId: app.tenant.workspaceId, firedAt: new Date(), value: 4.2 }
    const times = { resolvedAt: new Date() }
    const firing = await app.core.db.alert.create({ data: { ...row, deploymentId } })
    const ended = await app.core.db.alert.create({ data: { ...row, deploymentId, ...times } })
    const list = async (state?: string) =>
      (await api.get('listAlerts', state ? { state } : {})).map(({ id }: { id: string }) => id)
    expect(await list()).toEqual(expect.arrayContaining([firing.id, ended.id]))
    expect(await list('firing')).not.toContain(ended.id)
    expect(await list('resolved')).not.toContain(firing.id)
    await app.core.db.alert.create({ data: { ...row, firedAt: null, deploymentId: ruleId } })
    expect((await list()).length).toBe((await list('firing')).length + (await list('resolved')).length)
  })
})
