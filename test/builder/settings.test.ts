// Settings of the builder program: required ones, defaults and error messages.
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { readBuilderSettings } from '../../src/platform/config/builder-settings.ts'
import { ConfigError } from '../../src/platform/config/config.ts'
import { cli } from '../support/process.ts'

const right = {
  CONTROL_PLANE_URL: 'https://pilothouse.example.com',
  CONTROL_PLANE_API_KEY: `cpk_${'k'.repeat(43)}`,
}

test('two settings are required, the others have defaults', () => {
  expect(readBuilderSettings(right)).toMatchObject({
    ...right,
    BUILDER_NAME: undefined,
    BUILDER_HOST: '0.0.0.0',
    BUILDER_PORT: 8082,
    BUILDER: 'auto',
    LEASE_SECONDS: 30,
    MAX_BUILDS: undefined,
    DATA_DIR: path.resolve('.data'),
    BUILD_FREE_DISK_MB: 1000,
    GIT_DIRECTORY: undefined,
    LOG_LEVEL: 'info',
  })
})

describe('a wrong value stops the start with an error that names the setting:', () => {
  test.each([
    ['BUILDER', 'none', 'must be auto, podman or docker'],
    ['BUILDER_PORT', '80800', 'must be a whole number from 0 to 65535'],
    ['LEASE_SECONDS', '4', 'must be a whole number from 5 to 600'],
    ['MAX_BUILDS', '101', 'must be a whole number from 1 to 100'],
  ])('%s=%s', (name, value, why) => {
    const read = () => readBuilderSettings({ ...right, [name]: value })
    expect(read).toThrow(new ConfigError(`Wrong settings: ${name} ${why}`))
  })

  test('an agent server without its start command', () => {
    const read = () => readBuilderSettings({ ...right, AGENT_SERVER_NODE: 'a-server' })
    expect(read).toThrow('AGENT_SERVER_NODE and AGENT_SERVER_NODE_COMMAND need each other')
  })

  test('all problems are printed in one line before the builder starts', async () => {
    const { code, stdout, stderr } = await cli(['builder'], { MAX_BUILDS: 'many' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe(
      'Wrong settings: CONTROL_PLANE_URL is missing; CONTROL_PLANE_API_KEY is missing; ' +
        'MAX_BUILDS must be a whole number from 1 to 100\n',
    )
  })
})
