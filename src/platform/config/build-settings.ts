/** Settings of builds: package sources, and agent servers for graphs without one (docs/agents.md). */
import { z } from 'zod'
import type { SettingsTable } from './setting-types.ts'

/** Space-separated words. None may be an option of the installer. */
const packages = z
  .string()
  .transform((text) => text.split(/\s+/).filter(Boolean))
  .refine((all) => all.every((one) => !one.startsWith('-')), 'must be packages with spaces between, and no options')
const command = z.string().min(1).optional()
const indexes = z.string().min(1).optional()

export const BUILD_SETTINGS = {
  AGENT_SERVER_NODE: [
    packages.optional(),
    null,
    'npm packages of the agent server for JavaScript graphs without one, space-separated ([Agents](agents.md#graphs-and-no-server))',
  ],
  AGENT_SERVER_NODE_COMMAND: [
    command,
    null,
    'shell command that starts it, with `$PORT` and `$GRAPH_CONFIG`; required with `AGENT_SERVER_NODE`',
  ],
  AGENT_SERVER_PYTHON: [
    packages.optional(),
    null,
    'pip requirements of the agent server for Python graphs without one, space-separated, no space inside one',
  ],
  AGENT_SERVER_PYTHON_COMMAND: [
    command,
    null,
    'shell command that starts it, as above; required with `AGENT_SERVER_PYTHON`',
  ],
  NPM_CONFIG_REGISTRY: [indexes, null, 'registry for npm packages in builds. None: npm’s own configuration'],
  PIP_INDEX_URL: [indexes, null, 'index for Python packages in builds, for pip. None: pip’s own configuration'],
  PIP_EXTRA_INDEX_URL: [indexes, null, 'additional indexes, space-separated'],
  UV_INDEX_URL: [indexes, null, 'the same for uv'],
} as const satisfies SettingsTable

export const SUPPLIED_SERVERS = [
  ['AGENT_SERVER_NODE', 'AGENT_SERVER_NODE_COMMAND'],
  ['AGENT_SERVER_PYTHON', 'AGENT_SERVER_PYTHON_COMMAND'],
] as const

const INDEXES = ['NPM_CONFIG_REGISTRY', 'PIP_INDEX_URL', 'PIP_EXTRA_INDEX_URL', 'UV_INDEX_URL'] as const

/** The settings that builds get as environment variables. */
export function packageIndexes(
  config: { [K in (typeof INDEXES)[number]]: string | undefined },
): Record<string, string> {
  return Object.fromEntries(INDEXES.flatMap((name) => (config[name] ? [[name, config[name]]] : [])))
}

/** An agent server from its two settings; null when they are not set. */
export const suppliedServer = (packages: string[] | undefined, command: string | undefined) =>
  packages && command ? { packages, command } : null
