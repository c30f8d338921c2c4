/** Random documents of compilable fields, with aliases, fragments, conditions, and arguments as text or variables. */
import { type GraphQLField, type GraphQLObjectType, type GraphQLSchema, getNamedType, isObjectType } from 'graphql'
import { rowFieldOf } from '../../src/api/graphql/builder/row-fields.ts'
import { type DeploymentOrder, deploymentCursor } from '../../src/domain/deployments/order.ts'
import { encodeCursor, newestCursor } from '../../src/domain/paging/paging.ts'
import { DEPLOYMENT_STATUSES } from '../../src/domain/values/shapes.ts'
import { DeploymentType, RevisionStatus, Source } from '../../src/generated/prisma/enums.ts'
import type { Random } from './random.ts'
import type { SeededRows } from './random-rows.ts'

export interface RandomDocument {
  source: string
  variables: Record<string, unknown>
}

/** An argument's value, as a variable's JSON and as text. */
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

export function randomDocument(schema: GraphQLSchema, random: Random, seeded: SeededRows): RandomDocument {
  return new Writer(schema, random, seeded).document()
}

class Writer {
  readonly #schema: GraphQLSchema
  readonly #random: Random
  readonly #seeded: SeededRows
  readonly #variables = new Map<string, Value>()
  readonly #fragments: string[] = []
  #names = 0

  constructor(schema: GraphQLSchema, random: Random, seeded: SeededRows) {
    this.#schema = schema
    this.#random = random
    this.#seeded = seeded
  }

  document(): RandomDocument {
    const roots = Array.from({ length: this.#random.happens(0.15) ? 2 : 1 }, () => this.#root())
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
    const name = this.#random.pick([
      'deployments',
      'deployments',
      'deployment',
      'revision',
      'listeners',
      'listener',
      'tags',
    ])
    const type = getNamedType(query.getFields()[name]!.type) as GraphQLObjectType
    const owner = this.#random.pick(deployments)
    const revision = owner.revisions.length > 0 ? this.#random.pick(owner.revisions).id : owner.id
    const { listeners } = this.#seeded
    const newest = () => this.#newest()
    const one = (id: string) => () => ({ id: scalar('ID!', id) })
    const args = {
      deployments: () => this.#listed(),
      deployment: one(owner.id),
      revision: one(revision),
      listener: one(this.#random.pick(listeners)),
      listeners: newest,
      tags: newest,
    }[name]!()
    return `${this.#name()}: ${name}${this.#arguments(args)} ${this.#selection(type, 3)}`
  }

  /** Arguments of a list sorted by creation time. A cursor may come from another list. */
  #newest(): Record<string, Value> {
    return this.#window(() => newestCursor(this.#random.pick(this.#seeded.deployments)))
  }

  /** Arguments of `deployments`. */
  #listed(): Record<string, Value> {
    const random = this.#random
    const order: DeploymentOrder = { by: random.pick(ORDERS), direction: random.pick(['asc', 'desc']) }
    const isOrdered = random.happens(0.5)
    const used = isOrdered ? order : ({ by: 'CREATED_AT', direction: 'desc' } as const)
    const cursor = () => deploymentCursor(used, random.pick(this.#seeded.deployments))
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
      ...(random.happens(0.5) ? { filter: this.#filter() } : {}),
    }
  }

  #window(cursor: () => string): Record<string, Value> {
    const random = this.#random
    return {
      ...(random.happens(0.6)
        ? { [random.pick(['first', 'last'])]: scalar('Int', random.pick([0, 1, 3, 7, 20, 100])) }
        : {}),
      ...(random.happens(0.3) ? { after: scalar('String', cursor()) } : {}),
      ...(random.happens(0.2) ? { before: scalar('String', cursor()) } : {}),
    }
  }

  #filter(): Value {
    const random = this.#random
    const { tags, listeners, deployments } = this.#seeded
    const all: Record<string, Value> = {
      name: scalar('', random.pick(deployments).name),
      nameContains: scalar('', random.pick(['APP', 'ö', '%', '\\', '"', ''])),
      status: word('', random.pick(DEPLOYMENT_STATUSES)),
      serving: scalar('', random.happens(0.5)),
      latestRevisionStatus: words('', random.pickSome(Object.values(RevisionStatus))),
      latestRevisionWaits: scalar('', random.happens(0.5)),
      source: word('', random.pick(Object.values(Source))),
      listenerId: scalar('', random.pick(listeners)),
      remoteReconciled: scalar('', random.happens(0.5)),
      tagValueIds: scalar('', random.pickSome(tags)),
      imageVersion: scalar('', '1.0'),
      deploymentType: word('', random.pick(Object.values(DeploymentType))),
      deploymentIds: scalar(
        '',
        random.pickSome(deployments).map(({ id }) => id),
      ),
    }
    const names = random.happens(0.7)
      ? [random.pick(Object.keys(all))]
      : [random.pick(Object.keys(all)), 'remoteReconciled']
    return object('DeploymentFilter', Object.fromEntries(names.map((name) => [name, all[name]!])))
  }

  #arguments(values: Record<string, Value>): string {
    const given = Object.entries(values).map(([name, value]) => {
      if (this.#random.happens(0.5)) return `${name}: ${value.text}`
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

  /** A random selection of an object. `depth`: remaining nesting levels. */
  #selection(type: GraphQLObjectType, depth: number): string {
    const random = this.#random
    const fields = Object.values(type.getFields()).filter((field) => isCompilable(type, field))
    const chosen = fields.filter(({ type: of }) => random.happens(isObjectType(getNamedType(of)) ? 0.5 : 0.4))
    const parts = chosen.flatMap(({ name, type: of }) => this.#field(type.name, name, getNamedType(of), depth))
    if (parts.length === 0 || random.happens(0.1)) parts.push('__typename')
    return `{ ${this.#inFragments(type, parts).join(' ')} }`
  }

  #field(parent: string, name: string, type: unknown, depth: number): string[] {
    const random = this.#random
    if (!isObjectType(type)) return [`${random.happens(0.2) ? `${this.#name()}: ` : ''}${name}${this.#condition()}`]
    if (depth === 0) return []
    const cursor = () => encodeCursor([random.integerBelow(5)])
    const args =
      parent === 'Deployment' && name === 'revisions'
        ? {
            ...this.#window(cursor),
            ...(random.happens(0.4)
              ? { status: words('RevisionStatus', random.pickSome(Object.values(RevisionStatus))) }
              : {}),
          }
        : parent === 'Listener' && name === 'deployments'
          ? this.#newest()
          : {}
    // aliased, because fields of one name must have equal arguments
    const alias = Object.keys(args).length > 0 || random.happens(0.2) ? `${this.#name()}: ` : ''
    const isPage = /(Connection|Edge)$/.test(type.name)
    return [
      `${alias}${name}${this.#arguments(args)}${this.#condition()} ${this.#selection(type, isPage ? depth : depth - 1)}`,
    ]
  }

  #condition(): string {
    const random = this.#random
    if (!random.happens(0.04)) return ''
    const what = random.pick(['skip', 'include'])
    const known = [...this.#variables].filter(([, { type }]) => type === 'Boolean!').map(([name]) => name)
    if (known.length >= 3 || random.happens(0.3)) return ` @${what}(if: ${random.happens(0.5)})`
    const variable = this.#name()
    this.#variables.set(variable, scalar('Boolean!', random.happens(0.5)))
    return ` @${what}(if: $${variable})`
  }

  #inFragments(type: GraphQLObjectType, parts: string[]): string[] {
    const random = this.#random
    if (random.happens(0.8)) return parts
    const [some, rest] = [parts.slice(0, parts.length / 2), parts.slice(parts.length / 2)]
    if (some.length === 0) return parts
    if (type.getInterfaces().length > 0 && random.happens(0.5)) rest.push('... on Node { id }')
    if (random.happens(0.5)) return [`... on ${type.name} { ${some.join(' ')} }`, ...rest]
    const name = `F${this.#name()}`
    this.#fragments.push(`fragment ${name} on ${type.name} { ${some.join(' ')} }`)
    return [`...${name}`, ...rest, `...${name}`]
  }
}

function isCompilable(type: GraphQLObjectType, field: GraphQLField<unknown, unknown>): boolean {
  return !type.extensions.pothosPrismaModel || rowFieldOf(field) !== null
}
