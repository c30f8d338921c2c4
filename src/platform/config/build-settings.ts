/** Settings of builds: package sources, and agent servers for graphs without one (docs/agents.md). */
import { z } from 'zod'
import { type SettingsTable, text } from './setting-types.ts'

/** Space-separated words. None may be an option of the installer. */
const packages = z
  .string()
  .transform((text) => text.split(/\s+/).filter(Boolean))
  .refine((all) => all.every((one) => !one.startsWith('-')), 'must be packages with spaces between, and no options')

export const BUILD_SETTINGS = {
  AGENT_SERVER_NODE: [packages.optional()],
  AGENT_SERVER_NODE_COMMAND: [text.optional()],
  AGENT_SERVER_PYTHON: [packages.optional()],
  AGENT_SERVER_PYTHON_COMMAND: [text.optional()],
  NPM_CONFIG_REGISTRY: [text.optional()],
  PIP_INDEX_URL: [text.optional()],
  PIP_EXTRA_INDEX_URL: [text.optional()],
  UV_INDEX_URL: [text.optional()],
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
