/** The form's input as a curl command and a GraphQL mutation, without secret values. */
import { quoted } from '../../components/try-it/request.ts'
import { type Draft, toCreateInput } from './draft.ts'

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

function toSnakeCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSnakeCase)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [snake(key), toSnakeCase(one)]))
}

const withoutValues = (draft: Draft) => {
  const input = toCreateInput(draft)
  return { ...input, secrets: input.secrets.map(({ name }) => ({ name, value: '…' })) }
}

interface ApiTarget {
  origin: string
  /** null: the key belongs to one workspace */
  workspaceId: string | null
}

export function curlCommand(draft: Draft, { origin, workspaceId }: ApiTarget): string {
  const call = (method: string, path: string, body?: string) =>
    [
      `curl -sS -X ${method} ${path}`,
      `-H "X-Api-Key: $API_KEY"`,
      ...(workspaceId ? [`-H 'X-Tenant-Id: ${workspaceId}'`] : []),
      ...(body ? [`-H 'Content-Type: application/json'`, `-d ${body}`] : []),
    ].join(' \\\n  ')
  const body = JSON.stringify(toSnakeCase(withoutValues(draft)), null, 2)
  const create = call('POST', `${origin}/v2/deployments`, quoted(body))
  if (draft.from !== 'upload') return create
  return [
    create,
    '',
    '# then upload the source, with the id from the response',
    call('POST', `${origin}/v2/deployments/$ID/upload-url`),
    'tar -czf source.tar.gz -C FOLDER .',
    `curl -sS -X PUT --data-binary @source.tar.gz "$UPLOAD_URL"`,
    call(
      'PATCH',
      `${origin}/v2/deployments/$ID`,
      `"{ \\"source_revision_config\\": { \\"source_tarball_path\\": \\"$OBJECT_PATH\\" } }"`,
    ),
  ].join('\n')
}

/** members with enum values */
const ENUMS = ['source', 'deploymentType']

function literal(value: unknown, indent: string, key = ''): string {
  if (typeof value === 'string') return ENUMS.includes(key) ? value : JSON.stringify(value)
  if (value === null || typeof value !== 'object') return String(value)
  const deeper = `${indent}  `
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((one) => deeper + literal(one, deeper)).join('\n')}\n${indent}]`
  }
  const members = Object.entries(value).filter(([, one]) => one !== undefined)
  if (members.length === 0) return '{}'
  return `{\n${members.map(([name, one]) => `${deeper}${name}: ${literal(one, deeper, name)}`).join('\n')}\n${indent}}`
}

const RESULT = `__typename
    ... on CreateDeploymentSuccess { deployment { id } revision { id } }
    ... on Error { code message }`

export function graphqlMutation(draft: Draft): string {
  const create = `mutation {\n  createDeployment(input: ${literal(withoutValues(draft), '  ')}) {\n    ${RESULT}\n  }\n}`
  if (draft.from !== 'upload') return create
  const then = `# then PUT the tarball to uploadUrl, and set its objectPath as the source
mutation Address { createUploadUrl(input: { deploymentId: "…" }) {
  ... on CreateUploadUrlSuccess { uploadUrl objectPath }
} }
mutation Use { updateDeployment(input: {
  deploymentId: "…", sourceRevisionConfig: { sourceTarballPath: "…" }
}) { ... on UpdateDeploymentSuccess { revision { id } } } }`
  return `${create}\n\n${then}`
}
