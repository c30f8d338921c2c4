// Listener settings: required ones, defaults, and a startup error that names all wrong ones.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { ConfigError } from '../../src/platform/config/config.ts'
import { readListenerSettings } from '../../src/platform/config/listener-settings.ts'
import { cli } from '../support/process.ts'

const right = {
  CONTROL_PLANE_URL: 'https://pilothouse.example.com',
  CONTROL_PLANE_API_KEY: `cpk_${'k'.repeat(43)}`,
  LISTENER_ID: randomUUID(),
}

test('a listener has three required settings and defaults for the others', () => {
  expect(readListenerSettings(right)).toMatchObject({
    ...right,
    LISTENER_HOST: '0.0.0.0',
    LISTENER_PORT: 8081,
    LEASE_SECONDS: 30,
    MAX_CLAIMS: 1000,
    LOG_LEVEL: 'info',
    KUBECONFIG: undefined,
    VOLUME_POLICY: 'delete',
  })
})

test('a key from a file may end with a newline', () => {
  const settings = readListenerSettings({ ...right, CONTROL_PLANE_API_KEY: `${right.CONTROL_PLANE_API_KEY}\n` })
  expect(settings.CONTROL_PLANE_API_KEY).toBe(right.CONTROL_PLANE_API_KEY)
})

describe('a wrong value stops the start with its name', () => {
  test.each([
    ['CONTROL_PLANE_URL', 'pilothouse.example.com', 'must be an http(s) URL'],
    ['CONTROL_PLANE_URL', 'https://me:secret@pilothouse.example.com', 'must have no user, query or fragment'],
    ['CONTROL_PLANE_API_KEY', 'short', 'must be an API key: 20 to 256 printable characters without spaces'],
    ['LISTENER_ID', 'prod-eu', 'must be the id of a listener: a UUID'],
    ['LISTENER_PORT', '80800', 'must be a whole number from 0 to 65535'],
    ['LEASE_SECONDS', '4', 'must be a whole number from 5 to 600'],
    ['MAX_CLAIMS', '1001', 'must be a whole number from 1 to 1000'],
    ['VOLUME_POLICY', 'retain', 'must be delete or keep'],
  ])('startup refuses %s=%s', (name, value, why) => {
    const read = () => readListenerSettings({ ...right, [name]: value })
    expect(read).toThrow(new ConfigError(`Wrong settings: ${name} ${why}`))
  })

  test('startup reports all wrong settings in one line and does nothing else', async () => {
    const { code, stdout, stderr } = await cli(['listener'], { MAX_CLAIMS: 'many' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      'Wrong settings: CONTROL_PLANE_URL is missing; CONTROL_PLANE_API_KEY is missing; LISTENER_ID is missing; ' +
        'MAX_CLAIMS must be a whole number from 1 to 1000\n',
    )
  })

  test('startup reports a missing kubeconfig', async () => {
    const { code, stderr } = await cli(['listener'], { ...right, KUBECONFIG: '/nonexistent/kubeconfig' })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^The cluster can't be used: .*\/nonexistent\/kubeconfig.* See KUBECONFIG\.\n$/)
  })
})
