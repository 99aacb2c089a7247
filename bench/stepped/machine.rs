//! A calculator's machine: text to tokens to expressions to code to results, with a table of the words it knows.
use std::collections::HashMap;
use stepped::{rows, table};

#[derive(Clone, Copy, PartialEq, Debug)]
enum Token<'a> {
    Number(f64),
    Word(&'a str),
    Sign(u8),
    End,
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> Lexer<'a> {
    fn next(&mut self) -> Token<'a> {
        while let Some(&c) = self.text.get(self.at) {
            match c {
                b'\n' => self.line += 1,
                b' ' => {}
                _ => break,
            }
            self.at += 1;
        }
        let rest = &self.text[self.at..];
        let Some(&first) = rest.first() else { return Token::End };
        let length = match first {
            b'0'..=b'9' => rest.iter().take_while(|c| c.is_ascii_digit() || **c == b'.').count(),
            b'a'..=b'z' => rest.iter().take_while(|c| c.is_ascii_lowercase()).count(),
            _ => 1,
        };
        self.at += length;
        let word = std::str::from_utf8(&rest[..length]).unwrap_or("");
        match first {
            b'0'..=b'9' => Token::Number(word.parse().unwrap_or(0.0)),
            b'a'..=b'z' => Token::Word(word),
            sign => Token::Sign(sign),
        }
    }
}

#[derive(Debug)]
enum Expression {
    Constant(f64),
    Variable(u16),
    Unary(char, Box<Expression>),
    Binary { sign: u8, left: Box<Expression>, right: Box<Expression> },
    Call(u8, Vec<Expression>),
    Choice(Box<(Expression, Expression, Expression)>),
}

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Push(f64),
    Load(u16),
    Store(u16),
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    Negate,
    Jump(u32),
    JumpIfZero(u32),
    Call { function: u8, arguments: u8 },
    Halt,
}

struct Builtin {
    name: &'static str,
    arity: u8,
    run: fn(&[f64]) -> f64,
}

static BUILTINS: [Builtin; 4] = [
    Builtin { name: "max", arity: 2, run: |a| if a[0] > a[1] { a[0] } else { a[1] } },
    Builtin { name: "sum", arity: 3, run: |a| a.iter().sum() },
    Builtin { name: "half", arity: 1, run: |a| a[0] / 2.0 },
    Builtin { name: "mean", arity: 2, run: |a| (a[0] + a[1]) * 0.5 },
];

struct Parser<'a> {
    lexer: Lexer<'a>,
    ahead: Token<'a>,
    names: HashMap<&'a str, u16>,
    errors: Vec<(u32, &'static str)>,
}

fn boxed(expression: Expression) -> Box<Expression> {
    rows::<Expression, _>(|| Box::new(expression))
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        let mut lexer = Lexer { text: text.as_bytes(), at: 0, line: 1 };
        let ahead = lexer.next();
        Parser { lexer, ahead, names: HashMap::new(), errors: Vec::new() }
    }

    fn take(&mut self) -> Token<'a> {
        let next = self.lexer.next();
        std::mem::replace(&mut self.ahead, next)
    }

    fn expect(&mut self, sign: u8) {
        if self.take() != Token::Sign(sign) {
            let line = self.lexer.line;
            rows::<(u32, &'static str), _>(|| self.errors.push((line, "unexpected")));
        }
    }

    fn slot(&mut self, name: &'a str) -> u16 {
        let next = self.names.len() as u16;
        table::<&'static str, u16, _>(|| *self.names.entry(name).or_insert(next))
    }

    fn primary(&mut self) -> Expression {
        match self.take() {
            Token::Number(value) => Expression::Constant(value),
            Token::Word(word) => {
                if let Some(function) = BUILTINS.iter().position(|one| one.name == word) {
                    self.expect(b'(');
                    let mut arguments = Vec::new();
                    for n in 0..BUILTINS[function].arity {
                        if n > 0 {
                            self.expect(b',');
                        }
                        let one = self.expression(0);
                        rows::<Expression, _>(|| arguments.push(one));
                    }
                    self.expect(b')');
                    return Expression::Call(function as u8, arguments);
                }
                Expression::Variable(self.slot(word))
            }
            Token::Sign(b'-') => Expression::Unary('-', boxed(self.primary())),
            Token::Sign(b'(') => {
                let inner = self.expression(0);
                self.expect(b')');
                inner
            }
            Token::Sign(b'?') => {
                let condition = self.expression(1);
                self.expect(b':');
                let yes = self.expression(1);
                self.expect(b':');
                let no = self.expression(1);
                Expression::Choice(rows::<(Expression, Expression, Expression), _>(|| Box::new((condition, yes, no))))
            }
            _ => {
                let line = self.lexer.line;
                rows::<(u32, &'static str), _>(|| self.errors.push((line, "no expression")));
                Expression::Constant(f64::NAN)
            }
        }
    }

    fn expression(&mut self, least: u8) -> Expression {
        let mut left = self.primary();
        while let Token::Sign(sign) = self.ahead {
            let strength = match sign {
                b'<' => 1,
                b'+' | b'-' => 2,
                b'*' | b'/' => 3,
                _ => break,
            };
            if strength <= least {
                break;
            }
            self.take();
            let right = self.expression(strength);
            left = Expression::Binary { sign, left: boxed(left), right: boxed(right) };
        }
        left
    }
}

fn folded(expression: Expression) -> Expression {
    match expression {
        Expression::Binary { sign, left, right } => match (folded(*left), folded(*right)) {
            (Expression::Constant(a), Expression::Constant(b)) if sign == b'+' => Expression::Constant(a + b),
            (Expression::Constant(a), Expression::Constant(b)) if sign == b'*' => Expression::Constant(a * b),
            (left, right) => Expression::Binary { sign, left: boxed(left), right: boxed(right) },
        },
        Expression::Unary('-', inner) => match folded(*inner) {
            Expression::Constant(a) => Expression::Constant(-a),
            other => Expression::Unary('-', boxed(other)),
        },
        other => other,
    }
}

fn depth(expression: &Expression) -> usize {
    1 + match expression {
        Expression::Constant(_) | Expression::Variable(_) => 0,
        Expression::Unary(_, inner) => depth(inner),
        Expression::Binary { left, right, .. } => depth(left).max(depth(right)),
        Expression::Call(_, arguments) => arguments.iter().map(depth).max().unwrap_or(0),
        Expression::Choice(three) => depth(&three.0) + depth(&three.1) + depth(&three.2),
    }
}

#[derive(Default)]
struct Compiler {
    code: Vec<Instruction>,
    constants: usize,
}

impl Compiler {
    fn emit(&mut self, one: Instruction) -> usize {
        rows::<Instruction, _>(|| self.code.push(one));
        self.code.len() - 1
    }

    fn patch(&mut self, at: usize) {
        let here = self.code.len() as u32;
        match &mut self.code[at] {
            Instruction::Jump(to) | Instruction::JumpIfZero(to) => *to = here,
            _ => unreachable!(),
        }
    }

    fn compile(&mut self, expression: &Expression) {
        match expression {
            Expression::Constant(value) => {
                self.constants += 1;
                self.emit(Instruction::Push(*value));
            }
            Expression::Variable(slot) => {
                self.emit(Instruction::Load(*slot));
            }
            Expression::Unary(_, inner) => {
                self.compile(inner);
                self.emit(Instruction::Negate);
            }
            Expression::Binary { sign, left, right } => {
                self.compile(left);
                self.compile(right);
                self.emit(match sign {
                    b'+' => Instruction::Add,
                    b'-' => Instruction::Subtract,
                    b'*' => Instruction::Multiply,
                    b'/' => Instruction::Divide,
                    _ => Instruction::Less,
                });
            }
            Expression::Call(function, arguments) => {
                for one in arguments {
                    self.compile(one);
                }
                self.emit(Instruction::Call { function: *function, arguments: arguments.len() as u8 });
            }
            Expression::Choice(three) => {
                let (condition, yes, no) = &**three;
                self.compile(condition);
                let first = self.emit(Instruction::JumpIfZero(0));
                self.compile(yes);
                let second = self.emit(Instruction::Jump(0));
                self.patch(first);
                self.compile(no);
                self.patch(second);
            }
        }
    }
}

struct Machine<'c> {
    code: &'c [Instruction],
    stack: [f64; 32],
    top: usize,
    variables: Vec<f64>,
    counts: [u32; 16],
    history: Vec<Vec<f64>>,
}

impl Machine<'_> {
    fn push(&mut self, value: f64) {
        self.stack[self.top] = value;
        self.top += 1;
    }

    fn pop(&mut self) -> f64 {
        self.top -= 1;
        self.stack[self.top]
    }

    fn two(&mut self, f: impl Fn(f64, f64) -> f64) {
        let right = self.pop();
        let left = self.pop();
        self.push(f(left, right));
    }

    fn run(&mut self) -> Option<f64> {
        let mut at = 0;
        loop {
            let one = *self.code.get(at)?;
            at += 1;
            self.counts[at & 15] += 1;
            match one {
                Instruction::Push(value) => self.push(value),
                Instruction::Load(slot) => self.push(self.variables[slot as usize]),
                Instruction::Store(slot) => {
                    let value = self.pop();
                    self.variables[slot as usize] = value;
                }
                Instruction::Add => self.two(|a, b| a + b),
                Instruction::Subtract => self.two(|a, b| a - b),
                Instruction::Multiply => self.two(|a, b| a * b),
                Instruction::Divide => self.two(|a, b| if b == 0.0 { 0.0 } else { a / b }),
                Instruction::Less => self.two(|a, b| f64::from(a < b)),
                Instruction::Negate => {
                    let value = self.pop();
                    self.push(-value);
                }
                Instruction::Jump(to) => at = to as usize,
                Instruction::JumpIfZero(to) => {
                    if self.pop() == 0.0 {
                        at = to as usize;
                    }
                }
                Instruction::Call { function, arguments } => {
                    let n = usize::from(arguments);
                    let value = (BUILTINS[usize::from(function)].run)(&self.stack[self.top - n..self.top]);
                    self.top -= n;
                    self.push(value);
                }
                Instruction::Halt => break,
            }
        }
        let snapshot = rows::<f64, _>(|| self.variables.clone());
        rows::<Vec<f64>, _>(|| self.history.push(snapshot));
        (self.top > 0).then(|| self.pop())
    }
}

const LINES: [&str; 7] = [
    "1 + 2 * 3 - x",
    "max(x, y * 2) + half(z)",
    "(x + 1) * (y - 3) / (z + 4 * 2)",
    "sum(x, -y, mean(z, 10)) * 1.5",
    "? x < y : x * 2 : y + sum(1, 2, z)",
    "-(-x) + max(half(y), mean(x, z)) - 0.125",
    "x + ) y",
];

fn main() {
    let (mut total, mut errors, mut deepest, mut constants) = (0.0, 0, 0, 0);
    let mut hottest = 0u32;
    let mut spread = Vec::new();
    for line in LINES {
        let mut parser = Parser::new(line);
        let expression = folded(parser.expression(0));
        errors += parser.errors.iter().map(|(line, why)| *line as usize + why.len()).sum::<usize>();
        deepest = deepest.max(depth(&expression));
        let mut compiler = Compiler::default();
        compiler.compile(&expression);
        compiler.emit(Instruction::Store(0));
        compiler.emit(Instruction::Load(0));
        compiler.emit(Instruction::Halt);
        constants += compiler.constants;
        let variables = rows::<f64, _>(|| (0..4).map(|n| f64::from(n) * 1.5).collect::<Vec<_>>());
        let mut machine = Machine { code: &compiler.code, stack: [0.0; 32], top: 0, variables, counts: [0; 16], history: Vec::new() };
        for round in 0..6 {
            machine.variables[1] = f64::from(round);
            total += machine.run().unwrap_or(-1.0);
        }
        for pair in machine.history.windows(2) {
            let change: f64 = pair[0].iter().zip(&pair[1]).map(|(a, b)| (a - b).abs()).sum();
            rows::<f64, _>(|| spread.push(change));
        }
        hottest = hottest.max(machine.counts.iter().copied().max().unwrap_or(0));
    }
    spread.sort_by(|a, b| b.total_cmp(a));
    let low = spread.chunks(4).map(|part| part.iter().fold(0.0, |a: f64, b| a.max(*b))).fold(f64::MAX, f64::min);
    println!("total {total:.3} errors {errors} deepest {deepest} constants {constants} hottest {hottest} spread {:.3} low {low:.3}", spread[0]);
}
