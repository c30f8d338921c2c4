/** Converts field names: snake_case in JSON; camelCase in code, Prisma and GraphQL. */

export type Camel<S> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S

export const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
