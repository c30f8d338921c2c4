/**
 * Renders the subset of Go templates that the chart in deploy/chart uses, so that `listener manifest` prints it without
 * helm. Anything else throws.
 */
import { stringify } from 'yaml'

// biome-ignore lint/suspicious/noExplicitAny: values of YAML files
type Value = any
/** Variables of a template by name; `$` is its argument. */
type Scope = Map<string, Value>
type Expression = (dot: Value, scope: Scope) => Value
type Node = (dot: Value, scope: Scope) => string

/** `files`: texts of templates by name, whose `define`s are shared. Returns the rendered texts by name. */
export function renderTemplates(files: Map<string, string>, context: Value): Map<string, string> {
  const defined = new Map<string, Node>()
  const parsed = [...files].map(([name, text]) => [name, new Parser(name, text, defined).parse()] as const)
  return new Map(parsed.map(([name, node]) => [name, node(context, new Map([['$', context]]))]))
}

/** Go's truth: zero values and empty collections are false. */
function isTrue(value: Value): boolean {
  if (value === null || typeof value !== 'object') return !!value
  return (Array.isArray(value) ? value : Object.keys(value)).length > 0
}

const print = (value: Value): string => String(value ?? '')

function requireValue(message: string, value: Value): Value {
  if (value === null || value === undefined || value === '') throw new Error(message)
  return value
}

/** Functions of Go's text/template, sprig and helm. */
const FUNCTIONS: Record<string, (...args: Value[]) => Value> = {
  and: (...args) => args.find((arg) => !isTrue(arg)) ?? args.at(-1),
  contains: (part, text) => text.includes(part),
  default: (preset, value) => (isTrue(value) ? value : preset),
  dict: (...pairs) =>
    Object.fromEntries(pairs.flatMap((key, at) => (at % 2 === 0 ? [[key, pairs[at + 1]] as const] : []))),
  hasKey: (map, key) => Object.hasOwn(map, key),
  index: (list, key) => list[key],
  nindent: (spaces, text) => `\n${text.replaceAll(/^/gm, ' '.repeat(spaces))}`,
  not: (value) => !isTrue(value),
  or: (...args) => args.find(isTrue) ?? args.at(-1),
  printf: (format, ...args) => format.replaceAll('%s', () => print(args.shift())),
  quote: (value) => JSON.stringify(print(value)),
  required: requireValue,
  // Kubernetes reads YAML 1.1, in which `on` and `yes` are booleans
  toYaml: (value) => stringify(value, { version: '1.1', lineWidth: 0, sortMapEntries: true }).trimEnd(),
  trimSuffix: (suffix, text) => (text.endsWith(suffix) ? text.slice(0, -suffix.length) : text),
  trunc: (length, text) => (length < 0 ? text.slice(length) : text.slice(0, length)),
}

const TOKENS = /\s*("(?:[^"\\]|\\.)*"|-?\d+|:=|[=|(),]|\$?\w*(?:\.\w+)+|\$\w*|\.|\w+)/y

function tokensOf(action: string): string[] {
  const tokens: string[] = []
  TOKENS.lastIndex = 0
  while (TOKENS.lastIndex < action.trimEnd().length) {
    const match = TOKENS.exec(action)
    if (!match) throw new Error(`{{ ${action} }} is not in the subset of templates`)
    tokens.push(match[1]!)
  }
  return tokens
}

/** Splits a text into texts and actions, alternately. `{{-` and `-}}` remove the space next to them. */
const split = (text: string): string[] =>
  text
    .replaceAll(/\s*\{\{- /g, '{{ ')
    .replaceAll(/ -\}\}\s*/g, ' }}')
    .split(/\{\{(.*?)\}\}/s)

class Parser {
  readonly #name: string
  readonly #parts: string[]
  readonly #defined: Map<string, Node>
  /** index of the current text; the action is the next part */
  #at = 0

  constructor(name: string, text: string, defined: Map<string, Node>) {
    this.#name = name
    this.#parts = split(text)
    this.#defined = defined
  }

  parse(): Node {
    const { node, end } = this.#block()
    if (end !== null) throw new Error(`${this.#name}: {{ ${end.join(' ')} }} ends no block`)
    return node
  }

  /** Reads up to the end of a block. `end`: the tokens of `else` or `end`; null: the end of the file. */
  #block(): { node: Node; end: string[] | null } {
    const nodes: Node[] = []
    const node: Node = (dot, scope) => nodes.map((one) => one(dot, scope)).join('')
    for (;;) {
      const text = this.#parts[this.#at]!
      nodes.push(() => text)
      const action = this.#parts[this.#at + 1]?.trim()
      if (action === undefined) return { node, end: null }
      this.#at += 2
      if (action.startsWith('/*')) continue
      const tokens = tokensOf(action)
      if (tokens[0] === 'else' || tokens[0] === 'end') return { node, end: tokens }
      nodes.push(this.#action(tokens))
    }
  }

  #action(tokens: string[]): Node {
    const [word, ...rest] = tokens
    if (word === 'define') return this.#define(JSON.parse(rest[0]!))
    if (word === 'if' || word === 'with' || word === 'range') return this.#branch(word, rest)
    if (tokens[1] === ':=' || tokens[1] === '=') {
      const expression = this.#pipeline(tokens.slice(2))
      return (dot, scope) => {
        assign(scope, word!, expression(dot, scope), tokens[1] === ':=')
        return ''
      }
    }
    const expression = this.#pipeline(tokens)
    return (dot, scope) => print(expression(dot, scope))
  }

  #define(name: string): Node {
    this.#defined.set(name, this.#block().node)
    return () => ''
  }

  #branch(word: 'if' | 'with' | 'range', tokens: string[]): Node {
    const declared = tokens.indexOf(':=')
    const names = declared < 0 ? [] : tokens.slice(0, declared).filter((token) => token !== ',')
    const condition = this.#pipeline(tokens.slice(declared + 1))
    const { node, end } = this.#block()
    const otherwise = this.#otherwise(end)
    return (dot, scope) => {
      const value = condition(dot, scope)
      if (!isTrue(value)) return otherwise(dot, new Scoped(scope))
      if (word === 'if') return node(dot, new Scoped(scope))
      if (word === 'with') return node(value, new Scoped(scope))
      return entriesOf(value)
        .map(([key, item]) => {
          const inner = new Scoped(scope)
          const values = names.length === 1 ? [item] : [key, item]
          for (const [at, name] of names.entries()) assign(inner, name, values[at], true)
          return node(item, inner)
        })
        .join('')
    }
  }

  #otherwise(end: string[] | null): Node {
    if (end === null) throw new Error(`${this.#name}: a block without {{ end }}`)
    const [word, next, ...condition] = end
    if (word === 'end') return () => ''
    if (next !== undefined) return this.#branch(next as 'if', condition)
    return this.#block().node
  }

  /** `a b | c` calls c with the result of `a b` as its last argument. */
  #pipeline(tokens: string[]): Expression {
    const commands: Expression[][] = [[]]
    while (tokens.length > 0) {
      const token = tokens.shift()!
      if (token === ')') break
      if (token === '|') commands.push([])
      else commands.at(-1)!.push(token === '(' ? this.#pipeline(tokens) : this.#operand(token))
    }
    return (dot, scope) => {
      let piped: Value[] = []
      for (const [first, ...args] of commands) {
        const callee = first!(dot, scope)
        const given = args.map((arg) => arg(dot, scope))
        piped = [typeof callee === 'function' ? callee(...given, ...piped) : callee]
      }
      return piped[0]
    }
  }

  #operand(token: string): Expression {
    if (/^["\d-]|^(true|false)$/.test(token)) return () => JSON.parse(token)
    if (/^[.$]/.test(token)) return pathOf(token)
    // a template is included with its own variables
    if (token === 'include') return () => (name: string, dot: Value) => this.#include(name)(dot, new Map([['$', dot]]))
    if (!Object.hasOwn(FUNCTIONS, token)) throw new Error(`${this.#name}: no function ${token}`)
    return () => FUNCTIONS[token]
  }

  #include(name: string): Node {
    const node = this.#defined.get(name)
    if (!node) throw new Error(`${this.#name}: no template ${name}`)
    return node
  }
}

/** Variables of a block. Assignments with `=` change those of the blocks around. */
class Scoped extends Map<string, Value> {
  readonly outer: Scope

  constructor(outer: Scope) {
    super()
    this.outer = outer
  }

  override get(name: string): Value {
    return this.has(name) ? super.get(name) : this.outer.get(name)
  }
}

function assign(scope: Scope, name: string, value: Value, isNew: boolean): void {
  if (isNew || scope.has(name) || !(scope instanceof Scoped)) scope.set(name, value)
  else assign(scope.outer, name, value, isNew)
}

/** `.a.b`, `$.a` or `$name.a`. A missing member of a map is null; a member of null is an error, as in helm. */
function pathOf(token: string): Expression {
  const [root, ...members] = token.split('.')
  return (dot, scope) =>
    members.filter(Boolean).reduce<Value>(
      (value, member) => {
        if (value === null || value === undefined) throw new Error(`${token}: there is nothing before .${member}`)
        const found = Object.hasOwn(value, member) ? value[member] : null
        return typeof found === 'function' ? found.bind(value) : found
      },
      root === '' ? dot : scope.get(root!),
    )
}

/** Maps are walked in the order of their keys. */
const entriesOf = (value: Value): [unknown, Value][] =>
  Array.isArray(value)
    ? [...value.entries()]
    : Object.entries<Value>(value).sort(([one], [other]) => (one < other ? -1 : 1))
