/**
 * The input of the new-deployment page, as it is sent and as the example next to the form: equal, and without empty
 * fields.
 */
import { parse } from 'graphql'
import { expect, test } from 'vitest'
import { curlCommand, graphqlMutation } from '../../src/dashboard/pages/new-deployment/api-request.ts'
import {
  type Draft,
  EMPTY_DRAFT,
  formFieldOf,
  suggestName,
  toCreateInput,
} from '../../src/dashboard/pages/new-deployment/draft.ts'

const WHERE = { origin: 'https://pilothouse.example.com', workspaceId: null }
const image = (more: Partial<Draft> = {}): Draft => ({
  ...EMPTY_DRAFT,
  name: 'agent',
  imageUri: 'acme/agent:1',
  ...more,
})

test('for an image, its address and resources are sent', () => {
  expect(toCreateInput(image())).toEqual({
    name: 'agent',
    source: 'external_container',
    sourceConfig: {},
    sourceRevisionConfig: { imageUri: 'acme/agent:1' },
    secrets: [],
  })
  const resources = { minScale: 2, cpu: 0.5 }
  const draft = image({ resources, customUrl: ' https://agent.example.com ', listenerId: 'l', namespace: 'agents' })
  expect(toCreateInput(draft).sourceConfig).toEqual({
    listenerId: 'l',
    listenerConfig: { k8sNamespace: 'agents' },
    customUrl: 'https://agent.example.com',
    resourceSpec: resources,
  })
  // input for an image does not apply to a repository, except for resources
  expect(toCreateInput({ ...draft, from: 'git' }).sourceConfig).toEqual({
    integrationId: null,
    repoUrl: '',
    resourceSpec: resources,
  })
})

test('the idle minutes are sent for an agent that sleeps', () => {
  const sent = (more: Partial<Draft>) => toCreateInput(image({ idleMinutes: 30, ...more })).idleMinutes
  expect(sent({ resources: { minScale: 0 } })).toBe(30)
  expect(sent({ resources: { minScale: 0 }, idleMinutes: '' })).toBeUndefined()
  expect(sent({ resources: { minScale: '' } })).toBeUndefined()
  expect(sent({ resources: { minScale: 0 }, listenerId: 'l' })).toBeUndefined()
})

test('the terminal and GraphQL examples have everything, except for values of secrets', () => {
  const draft = image({
    name: "it's mine",
    resources: { memoryMb: 512 },
    secrets: [{ name: 'TOKEN', value: 'not for the script' }],
  })
  const body = /-d '(.*)'$/s.exec(curlCommand(draft, WHERE))![1]!.replaceAll(`'\\''`, `'`)
  expect(JSON.parse(body)).toEqual({
    name: "it's mine",
    source: 'external_container',
    source_config: { resource_spec: { memory_mb: 512 } },
    source_revision_config: { image_uri: 'acme/agent:1' },
    secrets: [{ name: 'TOKEN', value: '…' }],
  })
  for (const from of ['image', 'git', 'upload'] as const) {
    const text = graphqlMutation({ ...draft, from })
    expect(() => parse(text)).not.toThrow()
    expect(text).toContain('resourceSpec')
    expect(text).not.toContain('not for the script')
  }
})

test('violations from the server appear at their fields', () => {
  expect(formFieldOf(['input', 'name'])).toBe('name')
  expect(formFieldOf(['input', 'sourceConfig', 'customUrl'])).toBe('customUrl')
  expect(formFieldOf(['input', 'sourceConfig', 'resourceSpec', 'cpu'])).toBe('resources.cpu')
  expect(formFieldOf(['input', 'sourceConfig', 'resourceSpec'])).toBe('resources')
  expect(formFieldOf(['input', 'secrets', '0', 'name'])).toBe('secrets')
})

test('a name follows from the chosen source', () => {
  expect(
    ['registry.example.com/acme/agent:1.4', 'https://git.example.com/a/b.git', 'agent.tar.gz'].map(suggestName),
  ).toEqual(['agent', 'b', 'agent'])
})
