/** Random documents of hot fields alone: with aliases, fragments, conditions, and arguments as texts or variables. */
import { type GraphQLObjectType, type GraphQLSchema, getNamedType, isObjectType } from 'graphql'
import { COMPILED_TYPES } from '../../src/api/graphql/compiled-queries/field-table.ts'
import { type DeploymentOrder, deploymentCursor } from '../../src/domain/deployments/order.ts'
import { newestCursor } from '../../src/domain/paging/newest-first.ts'
import { encodeCursor } from '../../src/domain/paging/paging.ts'
import { DEPLOYMENT_STATUSES } from '../../src/domain/values/shapes.ts'
import { DeploymentType, RevisionStatus, Source } from '../../src/generated/prisma/enums.ts'
import type { Random } from './random.ts'
import type { SeededRows } from './random-rows.ts'

export interface RandomDocument {
  source: string
  variables: Record<string, unknown>
}

/** An argument's value, as it is sent in a variable and as text. */
interface Value {
  type: string
  value: unknown
  text: string
}

const scalar = (type: string, value: unknown): Value => ({ type, value, text: JSON.stringify(value) })
const word = (type: string, value: string): Value => ({ type, value, text: value })
const words = (type: string, values: readonly string[]): Value => ({
  type: `[${type}!]`,
  value: values,
  text: `[${values.join(' ')}]`,
})
const object = (type: string, members: Record<string, Value>): Value => ({
  type,
  value: Object.fromEntries(Object.entries(members).map(([name, { value }]) => [name, value])),
  text: `{ ${Object.entries(members)
    .map(([name, { text }]) => `${name}: ${text}`)
    .join(', ')} }`,
})

const ORDERS = ['ATTENTION', 'CREATED_AT', 'UPDATED_AT', 'NAME'] as const

export function randomDocument(schema: GraphQLSchema, chance: Random, seeded: SeededRows): RandomDocument {
  return new Writer(schema, chance, seeded).document()
}

class Writer {
  readonly #schema: GraphQLSchema
  readonly #chance: Random
  readonly #seeded: SeededRows
  readonly #variables = new Map<string, Value>()
  readonly #fragments: string[] = []
  #names = 0

  constructor(schema: GraphQLSchema, chance: Random, seeded: SeededRows) {
    this.#schema = schema
    this.#chance = chance
    this.#seeded = seeded
  }

  document(): RandomDocument {
    const roots = Array.from({ length: this.#chance.is(0.15) ? 2 : 1 }, () => this.#root())
    const variables = [...this.#variables].map(([name, { type }]) => `$${name}: ${type}`)
    const head = variables.length > 0 ? `query (${variables.join(', ')})` : 'query'
    return {
      source: `${head} { ${roots.join(' ')} }\n${this.#fragments.join('\n')}`,
      variables: Object.fromEntries([...this.#variables].map(([name, { value }]) => [name, value])),
    }
  }

  #root(): string {
    const { deployments } = this.#seeded
    const query = this.#schema.getQueryType()!
    const name = this.#chance.of([
      'deployments',
      'deployments',
      'deployment',
      'revision',
      'listeners',
      'listener',
      'tags',
    ])
    const type = getNamedType(query.getFields()[name]!.type) as GraphQLObjectType
    const owner = this.#chance.of(deployments)
    const revision = owner.revisions.length > 0 ? this.#chance.of(owner.revisions).id : owner.id
    const { listeners } = this.#seeded
    const newest = () => this.#newest()
    const one = (id: string) => () => ({ id: scalar('ID!', id) })
    const args = {
      deployments: () => this.#listed(),
      deployment: one(owner.id),
      revision: one(revision),
      listener: one(this.#chance.of(listeners)),
      listeners: newest,
      tags: newest,
    }[name]!()
    return `${this.#name()}: ${name}${this.#arguments(args)} ${this.#selection(type, 3)}`
  }

  /** Arguments of a list that is sorted by time of creation; its cursors may be those of others. */
  #newest(): Record<string, Value> {
    return this.#window(() => newestCursor(this.#chance.of(this.#seeded.deployments)))
  }

  /** Arguments of the list. */
  #listed(): Record<string, Value> {
    const chance = this.#chance
    const order: DeploymentOrder = { by: chance.of(ORDERS), direction: chance.of(['asc', 'desc']) }
    const isOrdered = chance.is(0.5)
    const used = isOrdered ? order : ({ by: 'CREATED_AT', direction: 'desc' } as const)
    const cursor = () => deploymentCursor(used, chance.of(this.#seeded.deployments))
    return {
      ...this.#window(cursor),
      ...(isOrdered
        ? {
            orderBy: object('DeploymentOrder', {
              field: word('', order.by),
              direction: word('', order.direction.toUpperCase()),
            }),
          }
        : {}),
      ...(chance.is(0.5) ? { filter: this.#filter() } : {}),
    }
  }

  #window(cursor: () => string): Record<string, Value> {
    const chance = this.#chance
    return {
      ...(chance.is(0.6) ? { [chance.of(['first', 'last'])]: scalar('Int', chance.of([0, 1, 3, 7, 20, 100])) } : {}),
      ...(chance.is(0.3) ? { after: scalar('String', cursor()) } : {}),
      ...(chance.is(0.2) ? { before: scalar('String', cursor()) } : {}),
    }
  }

  #filter(): Value {
    const chance = this.#chance
    const { tags, listeners, deployments } = this.#seeded
    const all: Record<string, Value> = {
      name: scalar('', chance.of(deployments).name),
      nameContains: scalar('', chance.of(['APP', 'ö', '%', '\\', '"', ''])),
      status: word('', chance.of(DEPLOYMENT_STATUSES)),
      serving: scalar('', chance.is(0.5)),
      latestRevisionStatus: words('', chance.some(Object.values(RevisionStatus))),
      latestRevisionWaits: scalar('', chance.is(0.5)),
      source: word('', chance.of(Object.values(Source))),
      listenerId: scalar('', chance.of(listeners)),
      remoteReconciled: scalar('', chance.is(0.5)),
      tagValueIds: scalar('', chance.some(tags)),
      imageVersion: scalar('', '1.0'),
      deploymentType: word('', chance.of(Object.values(DeploymentType))),
      deploymentIds: scalar(
        '',
        chance.some(deployments).map(({ id }) => id),
      ),
    }
    const names = chance.is(0.7) ? [chance.of(Object.keys(all))] : [chance.of(Object.keys(all)), 'remoteReconciled']
    return object('DeploymentFilter', Object.fromEntries(names.map((name) => [name, all[name]!])))
  }

  #arguments(values: Record<string, Value>): string {
    const given = Object.entries(values).map(([name, value]) => {
      if (this.#chance.is(0.5)) return `${name}: ${value.text}`
      const variable = this.#name()
      this.#variables.set(variable, value)
      return `${name}: $${variable}`
    })
    return given.length > 0 ? `(${given.join(', ')})` : ''
  }

  #name(): string {
    this.#names++
    return `n${this.#names}`
  }

  /** What is selected of an object; `depth`: how far it may go on below. */
  #selection(type: GraphQLObjectType, depth: number): string {
    const chance = this.#chance
    const fields = Object.values(type.getFields()).filter(({ name }) => isHot(type.name, name))
    const chosen = fields.filter(({ type: of }) => chance.is(isObjectType(getNamedType(of)) ? 0.5 : 0.4))
    const parts = chosen.flatMap(({ name, type: of }) => this.#field(type.name, name, getNamedType(of), depth))
    if (parts.length === 0 || chance.is(0.1)) parts.push('__typename')
    return `{ ${this.#inFragments(type, parts).join(' ')} }`
  }

  #field(parent: string, name: string, type: unknown, depth: number): string[] {
    const chance = this.#chance
    if (!isObjectType(type)) return [`${chance.is(0.2) ? `${this.#name()}: ` : ''}${name}${this.#condition()}`]
    if (depth === 0) return []
    const cursor = () => encodeCursor([chance.below(5)])
    const args =
      parent === 'Deployment' && name === 'revisions'
        ? {
            ...this.#window(cursor),
            ...(chance.is(0.4) ? { status: words('RevisionStatus', chance.some(Object.values(RevisionStatus))) } : {}),
          }
        : parent === 'Listener' && name === 'deployments'
          ? this.#newest()
          : {}
    // under a name of its own: fields of one name have to have the same arguments
    const alias = Object.keys(args).length > 0 || chance.is(0.2) ? `${this.#name()}: ` : ''
    const isPage = /(Connection|Edge)$/.test(type.name)
    return [
      `${alias}${name}${this.#arguments(args)}${this.#condition()} ${this.#selection(type, isPage ? depth : depth - 1)}`,
    ]
  }

  #condition(): string {
    const chance = this.#chance
    if (!chance.is(0.04)) return ''
    const what = chance.of(['skip', 'include'])
    const known = [...this.#variables].filter(([, { type }]) => type === 'Boolean!').map(([name]) => name)
    if (known.length >= 3 || chance.is(0.3)) return ` @${what}(if: ${chance.is(0.5)})`
    const variable = this.#name()
    this.#variables.set(variable, scalar('Boolean!', chance.is(0.5)))
    return ` @${what}(if: $${variable})`
  }

  #inFragments(type: GraphQLObjectType, parts: string[]): string[] {
    const chance = this.#chance
    if (chance.is(0.8)) return parts
    const [some, rest] = [parts.slice(0, parts.length / 2), parts.slice(parts.length / 2)]
    if (some.length === 0) return parts
    if (type.getInterfaces().length > 0 && chance.is(0.5)) rest.push('... on Node { id }')
    if (chance.is(0.5)) return [`... on ${type.name} { ${some.join(' ')} }`, ...rest]
    const name = `F${this.#name()}`
    this.#fragments.push(`fragment ${name} on ${type.name} { ${some.join(' ')} }`)
    return [`...${name}`, ...rest, `...${name}`]
  }
}

function isHot(type: string, field: string): boolean {
  const hot = COMPILED_TYPES[type]
  if (hot) return hot.columns === true || field in hot.fields
  return true
}
