/**
 * Walks the schema: builds an operation for every root field, with every resource argument filled and everything selected.
 * It throws for an unknown argument, so new operations are covered or reported.
 */
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationTypeNode,
} from 'graphql'
import { schema } from '../../src/api/graphql/schema.ts'
import { type Ids, LOGIN_CODE, TYPE_OF } from '../support/one-of-each.ts'

/** Values of arguments: ids by the argument's name; `id` by the type that the field returns. */
export interface Victims {
  byName: Record<string, string | string[]>
  byType: Record<string, string>
}

/** Types that `node` can return, without the tenant's own two. */
export const NODES = [
  'Deployment',
  'Revision',
  'Listener',
  'TracingProject',
  'Tag',
  'GitIntegration',
  'ApiKey',
  'Session',
  'OAuthProvider',
  'OAuthToken',
  'AgentLink',
  'WebhookEndpoint',
  'AlertRule',
] as const

export function victimsOf(ids: Ids): Victims {
  return {
    byName: {
      ...Object.fromEntries(Object.entries(TYPE_OF).map(([name, type]) => [name, ids[type]])),
      deploymentIds: [ids.Deployment],
      deliveryIds: [ids.EndpointDelivery],
      tagValueIds: [ids.Tag],
      ids: [...NODES, 'Workspace' as const, 'Organization' as const].map((type) => ids[type]),
    },
    byType: { ...ids, Node: ids.Deployment },
  }
}

export interface Operation {
  name: string
  text: string
  variables: Record<string, unknown>
  /** whether it contains one of the victim's ids */
  named: boolean
}

/** Values of required members that refer to no resource. */
const PLAIN: Record<string, unknown> = {
  code: LOGIN_CODE,
  name: 'walk',
  key: 'walk',
  value: 'walk',
  source: 'gitprovider',
  role: 'viewer',
  owner: 'walk',
  computeType: 'k8s',
  computeId: 'walk',
  type: 'build',
  secrets: [],
  tags: [],
  unset: ['S'],
  field: 'NAME',
  direction: 'ASC',
  // rejected, so that no walk calls another machine
  mcpServerUrl: 'http://walk.invalid',
  authUrl: 'https://walk.invalid/authorize',
  tokenUrl: 'https://walk.invalid/token',
  clientId: 'walk',
  scopes: ['read'],
  userId: 'walk',
  url: 'https://walk.invalid/hook',
  kind: 'not_serving',
  metric: 'cpu',
  target: 50,
}

/** Mutations whose `providerId` is a new name. */
const NAMING = ['createOAuthProvider', 'discoverMcpProvider']

const MAX_DEPTH = 3
/** Depth for lists, so that the query stays below the cost limit. Single resources are walked deeper. */
const DEPTHS: Record<string, number> = { nodes: 1, deploymentsChanged: 1 }

export function operations(kind: OperationTypeNode, victims: Victims): Operation[] {
  return Object.values(schema.getRootType(kind)!.getFields()).map((field) => operation(kind, field, victims))
}

function operation(kind: OperationTypeNode, field: GraphQLField<unknown, unknown>, victims: Victims): Operation {
  const declared: string[] = []
  const variables: Record<string, unknown> = {}
  let named = false
  const call = (from: GraphQLField<unknown, unknown>) => {
    const passed = from.args.flatMap((arg) => {
      const value = fillingOf(arg, arg.type, from, victims)
      if (value === undefined) return []
      const variable = `v${declared.length}`
      declared.push(`$${variable}: ${arg.type}`)
      variables[variable] = value
      named ||= containsVictim(value, victims)
      return [`${arg.name}: $${variable}`]
    })
    return passed.length > 0 ? `${from.name}(${passed.join(', ')})` : from.name
  }
  const root = call(field)
  const selected = selection(getNamedType(field.type), DEPTHS[field.name] ?? MAX_DEPTH, call)
  const head = declared.length > 0 ? `(${declared.join(', ')})` : ''
  return { name: field.name, text: `${kind} ${head} { ${root} ${selected} }`, variables, named }
}

/** Selects everything below a type, `depth` levels deep. */
function selection(
  type: GraphQLNamedType,
  depth: number,
  call: (field: GraphQLField<unknown, unknown>) => string,
  siblings: readonly GraphQLObjectType[] = [],
): string {
  if (isAbstractType(type)) {
    const members = schema.getPossibleTypes(type)
    // less deep for unions of many types, to stay within the limits
    const parts = members.map((one) => `... on ${one.name} ${selection(one, Math.min(depth, 2), call, members)}`)
    return `{ __typename ${parts.join(' ')} }`
  }
  if (!isObjectType(type)) return ''
  // sixty fields at each place; documents have a limit
  if (type.name === 'ResourceSpec') return '{ __typename cpu labels }'
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const below = getNamedType(field.type)
    const composite = isObjectType(below) || isAbstractType(below)
    if (composite && depth === 0) return []
    // another resource of the same type
    if (below.name === type.name) return [`${call(field)} { __typename }`]
    // members of a union may have different types for a field
    const clash = siblings.some((one) => String(one.getFields()[field.name]?.type ?? field.type) !== String(field.type))
    const alias = clash ? `${type.name}_${field.name}: ` : ''
    return [`${alias}${call(field)} ${composite ? selection(below, depth - 1, call) : ''}`]
  })
  return `{ __typename ${fields.join(' ')} }`
}

/** undefined: an optional argument that refers to no resource is omitted. */
function fillingOf(
  arg: GraphQLArgument | GraphQLInputField,
  type: GraphQLInputType,
  field: GraphQLField<unknown, unknown>,
  victims: Victims,
): unknown {
  const bare = isNonNullType(type) ? type.ofType : type
  const named = getNamedType(type)
  if (named.name === 'ID') {
    const id = arg.name === 'id' ? victims.byType[getNamedType(field.type).name] : victims.byName[arg.name]
    if (id === undefined) throw new Error(`the walk has no id for the argument ${arg.name} of ${field.name}`)
    return isListType(bare) ? [id].flat() : id
  }
  if (arg.name === 'first') return 3
  const required = isNonNullType(type)
  if (isInputObjectType(named) && !isListType(bare)) {
    const members = Object.values(named.getFields()).map((member) => [
      member.name,
      fillingOf(member, member.type, field, victims),
    ])
    const filled = Object.fromEntries(members.filter(([, value]) => value !== undefined))
    return required || containsVictim(filled, victims) ? filled : undefined
  }
  if (!required || arg.defaultValue !== undefined) return undefined
  const given = arg.name === 'providerId' && NAMING.includes(field.name) ? 'walk' : undefined
  const value = given ?? PLAIN[arg.name] ?? victims.byName[arg.name]
  if (value === undefined || (isEnumType(named) && !named.getValue(String(value))))
    throw new Error(`the walk has no value for the argument ${arg.name} of ${field.name}`)
  return value
}

function containsVictim(value: unknown, { byName, byType }: Victims): boolean {
  const text = JSON.stringify(value)
  return [...Object.values(byName), ...Object.values(byType)].flat().some((id) => text.includes(id))
}
