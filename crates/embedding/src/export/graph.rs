//! Collects nodes and constants of one graph, naming values as it goes.

use std::collections::HashSet;

use super::onnx_proto::{
    AttributeProto, DimensionProto, ElementType, GraphProto, NodeProto, TensorProto, TensorShapeProto,
    TensorTypeProto, TypeProto, ValueInfoProto,
};

/// The operator set of ONNX Runtime's own operators.
pub(super) const MICROSOFT: &str = "com.microsoft";

/// Name of a value: a graph input, a constant or the output of a node.
pub(super) type Value = String;

/// A graph under construction.
#[derive(Default)]
pub(super) struct Graph {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
    constant_names: HashSet<String>,
}

/// An operation before it has a name.
pub(super) struct Op {
    node: NodeProto,
}

impl Op {
    /// An operation of the standard set; an empty input name means an omitted optional input.
    pub(super) fn new(op_type: &str, inputs: &[&str]) -> Self {
        let input = inputs.iter().map(ToString::to_string).collect();
        Self { node: NodeProto { input, op_type: op_type.to_owned(), ..NodeProto::default() } }
    }

    /// An operation of ONNX Runtime's own set.
    pub(super) fn microsoft(op_type: &str, inputs: &[&str]) -> Self {
        let mut op = Self::new(op_type, inputs);
        op.node.domain = MICROSOFT.to_owned();
        op
    }

    /// Adds an integer attribute.
    pub(super) fn int(self, name: &str, value: i64) -> Self {
        self.attribute(AttributeProto {
            name: name.to_owned(),
            i: Some(value),
            r#type: 2,
            ..Default::default()
        })
    }

    /// Adds a list of integers.
    pub(super) fn ints(self, name: &str, values: &[i64]) -> Self {
        let ints = values.to_vec();
        self.attribute(AttributeProto { name: name.to_owned(), ints, r#type: 7, ..Default::default() })
    }

    /// Adds a float attribute.
    pub(super) fn float(self, name: &str, value: f32) -> Self {
        self.attribute(AttributeProto {
            name: name.to_owned(),
            f: Some(value),
            r#type: 1,
            ..Default::default()
        })
    }

    fn attribute(mut self, attribute: AttributeProto) -> Self {
        self.node.attribute.push(attribute);
        self
    }
}

impl Graph {
    /// Adds an operation with one output and returns that.
    pub(super) fn add(&mut self, op: Op) -> Value {
        let name = format!("{}_{}", op.node.op_type, self.nodes.len() + 1);
        self.add_named(op, vec![name.clone()]);
        name
    }

    /// Adds an operation with three outputs.
    pub(super) fn add_triple(&mut self, op: Op) -> [Value; 3] {
        let number = self.nodes.len() + 1;
        let names = [0, 1, 2].map(|part| format!("{}_{number}_{part}", op.node.op_type));
        self.add_named(op, names.to_vec());
        names
    }

    /// Adds an operation whose outputs have given names.
    pub(super) fn add_named(&mut self, op: Op, outputs: Vec<Value>) {
        let mut node = op.node;
        node.name = format!("n{}_{}", self.nodes.len() + 1, node.op_type);
        node.output = outputs;
        self.nodes.push(node);
    }

    /// An f32 constant. If the name was added before, it refers to that constant, and `values` are ignored.
    pub(super) fn f32s(&mut self, name: &str, dims: &[usize], values: &[f32]) -> Value {
        self.constant(name, dims, ElementType::F32, || values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// The values rounded to f16.
    pub(super) fn f16s(&mut self, name: &str, dims: &[usize], values: &[f32]) -> Value {
        let round = |value: &f32| half::f16::from_f32_const(*value).to_le_bytes();
        self.constant(name, dims, ElementType::F16, || values.iter().flat_map(round).collect())
    }

    /// An i8 constant.
    pub(super) fn i8s(&mut self, name: &str, dims: &[usize], values: &[i8]) -> Value {
        self.constant(name, dims, ElementType::I8, || values.iter().flat_map(|v| v.to_le_bytes()).collect())
    }

    /// A single u8.
    pub(super) fn u8_scalar(&mut self, name: &str, value: u8) -> Value {
        self.constant(name, &[], ElementType::U8, || vec![value])
    }

    /// A list of i64, as shapes and axes are.
    pub(super) fn i64s(&mut self, name: &str, values: &[i64]) -> Value {
        self.constant(name, &[values.len()], ElementType::I64, || {
            values.iter().flat_map(|v| v.to_le_bytes()).collect()
        })
    }

    fn constant(
        &mut self,
        name: &str,
        dims: &[usize],
        kind: ElementType,
        raw: impl FnOnce() -> Vec<u8>,
    ) -> Value {
        if self.constant_names.insert(name.to_owned()) {
            let dims = dims.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
            let tensor = TensorProto { dims, data_type: kind as i32, name: name.to_owned(), raw_data: raw() };
            self.constants.push(tensor);
        }
        name.to_owned()
    }

    /// The finished graph.
    pub(super) fn finish(
        self,
        name: &str,
        input: Vec<ValueInfoProto>,
        output: Vec<ValueInfoProto>,
    ) -> GraphProto {
        GraphProto { node: self.nodes, name: name.to_owned(), initializer: self.constants, input, output }
    }
}

/// Declares an input or output; a dimension is a name or a number.
pub(super) fn tensor_info(name: &str, kind: ElementType, dims: &[&str]) -> ValueInfoProto {
    let dimension = |text: &&str| match text.parse() {
        Ok(length) => DimensionProto { dim_value: Some(length), dim_param: None },
        Err(_) => DimensionProto { dim_value: None, dim_param: Some((*text).to_owned()) },
    };
    let shape = TensorShapeProto { dim: dims.iter().map(dimension).collect() };
    let tensor_type = TensorTypeProto { elem_type: kind as i32, shape: Some(shape) };
    ValueInfoProto { name: name.to_owned(), r#type: Some(TypeProto { tensor_type: Some(tensor_type) }) }
}
